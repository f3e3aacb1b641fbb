"""The picture out of what was brought from the control host."""

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusterwright.monitor.gather.jobs import jobs
from clusterwright.monitor.gather.nodes import NodeSpec, nodes, state
from clusterwright.monitor.gather.reading import ClusterFacts, build_snapshot, teams
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.states import parse_node_state

NODE = (  # a real line of 22.05.8
    "NodeName=gpu-node1 Arch=x86_64 CoresPerSocket=8  CPUAlloc=1 CPUEfctv=16 CPUTot=16 CPULoad=32.31 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:a100:4 NodeAddr=gpu-node1 NodeHostName=gpu-node1 "
    "Version=22.05.8 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=15872 AllocMem=928 FreeMem=11979 "
    "Sockets=2 Boards=1 MemSpecLimit=1024 State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
    "Partitions=train,quick  BootTime=1795343598 SlurmdStartTime=1795388732 LastBusyTime=1795391376 "
    "CfgTRES=cpu=16,mem=15.50G,billing=427,gres/gpu=4,gres/gpu:a100=4 AllocTRES=cpu=1,mem=928M,gres/gpu=2 CapWatts=n/a "
    "CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s{reason}"
)


@pytest.fixture
def known(recorded):
    """What the recorded cluster's file would say."""
    of = recorded.made_picture(60, 100)
    return ClusterFacts("recorded", {node.name: NodeSpec(node.group, node.leaf) for node in of.nodes})


def one(state="IDLE", reason="", **measures):
    """The node of one line."""
    text = NODE.format(state=state, reason=f" Reason={reason}" if reason else "")
    return nodes(text, {"gpu-node1": NodeSpec("a100", "leaf1")}, measures, {}, {"12": "8_3"})[0]


@pytest.mark.parametrize("seed", [0, 1])
def test_what_was_made_is_read(recorded, known, seed):
    """Every field of every node, job, team, alert and run, with names of strangers among them."""
    made = recorded.made_picture(60, 100, seed)
    document = json.loads(recorded.as_json(recorded.texts(made)))

    assert build_snapshot(document, known) == made
    assert any(job.name in recorded.HOSTILE for job in made.jobs)


def test_a_thousand_nodes_and_five_thousand_jobs_are_read(recorded):
    """The figure that the first paint stands on."""
    made = recorded.made_picture()
    where = {node.name: NodeSpec(node.group, node.leaf) for node in made.nodes}

    found = build_snapshot(
        json.loads(recorded.as_json(recorded.texts(made))), ClusterFacts("recorded", where)
    )
    assert found == made
    assert (len(found.nodes), len(found.jobs)) == (1000, 5000)


@given(name=st.text(max_size=80))
@example(name="\n")
def test_a_name_cannot_make_fields_or_jobs(recorded, name):
    """Whatever stands in it, there is one job, with that name."""
    job = replace(recorded.made_picture(4, 1).jobs[0], name=name, run=None)
    text = recorded._job_row(job)

    if recorded.MARK in name:  # it is drawn anew at each asking, from 64 random bits
        return
    assert [found.name for _, found in jobs(text, recorded.MARK, {})] == [name]


def test_parts_that_do_not_answer_are_named_and_the_rest_is_shown(recorded, known):
    """Slurm down: hosts of the file with what Prometheus measures; Prometheus down: Slurm's nodes without it."""
    document = recorded.recorded(60, 100)
    document["said"].update(jobs="", nodes="")
    document["silent"] = {
        "jobs": "squeue: Unable to contact slurm controller",
        "nodes": "scontrol: no answer",
    }

    without = build_snapshot(document, known)
    assert {node.state for node in without.nodes} == {"unknown"}
    assert without.nodes[0].gpus[0].utilisation is not None
    assert without.missing == (
        "the queue: squeue: Unable to contact slurm controller", "the nodes: scontrol: no answer",
    )  # fmt: skip

    document = recorded.recorded(60, 100)
    document.update(measures={}, silent={"measures": "Connection refused"})
    blind = build_snapshot(document, replace(known, absent={"measures": "not set up"}))
    assert blind.missing == ("GPU metrics: not set up",)
    assert {gpu.utilisation for node in blind.nodes for gpu in node.gpus} == {None}
    assert blind.jobs[0].utilisation is None


@pytest.mark.parametrize(
    ("text", "named", "drained"),
    [
        ("IDLE", "idle", False), ("MIXED+DRAIN", "mixed", True), ("DOWN*", "down", False),
        ("DOWN*+DRAIN", "down", True), ("IDLE+NOT_RESPONDING", "not_responding", False),
        ("IDLE*", "not_responding", False),
        ("IDLE+POWERED_DOWN", "powered_down", False), ("IDLE~", "powered_down", False),
        ("MIXED#", "powering_up", False),
        ("ALLOCATED+MAINT", "maint", False), ("IDLE+PLANNED", "planned", False), ("MIXED+PLANNED", "mixed", False),
        ("IDLE+RESERVED", "reserved", False), ("IDLE+COMPLETING", "completing", False), ("DOWN+FAIL", "down", True),
        ("IDLE+DRAIN+REBOOT_ISSUED", "rebooting", True), ("UNKNOWN+NOT_RESPONDING", "not_responding", False),
        ("FUTURE", "future", False), ("NEWSTATE+SOMETHING", "newstate", False), ("", "unknown", False),
    ],
)  # fmt: skip
def test_states_of_all_releases(text, named, drained):
    """As words since 21.08, as signs before, and such as nobody knows yet."""
    assert state(parse_node_state(text)) == (named, drained)


def test_a_node_with_fields_that_nobody_knows():
    """Of 26.05 or of a site's own patch; what is known is read."""
    text = NODE.format(state="MIXED", reason=" Extra=a=b Comment=x InstanceId=i-1 GpuTopo={a:[1,2]} ")

    found = nodes(text + "\nNodeName=n2 State=IDLE\nNodeName=", {}, {}, {}, {})
    assert (found[0].state, found[0].gpus_total, found[0].gpus_used, found[0].cpus) == ("mixed", 4, 2, 16)
    assert (found[1].state, found[1].gpus, found[1].memory_used) == ("idle", (), None)


# Fields as other releases print them, in their order; from answers of real daemons that their users have published.
RELEASES = {
    "21.08.8": "NodeName=a1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=128 CPUTot=256 CPULoad=9.12 AvailableFeatures="
    "location=local ActiveFeatures=location=local Gres=gpu:A800:8(S:16-31,48-63,80-95,112-127) NodeAddr=a1 "
    "NodeHostName=a1 Version=21.08.8-2 OS=Linux 5.4.0 #173-Ubuntu SMP Tue Jul 11 07:25:22 UTC 2023  RealMemory=2034931 "
    "AllocMem=0 FreeMem=1644035 Sockets=256 Boards=1 State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A "
    "MCS_label=N/A Partitions=defq  BootTime=1694980198 SlurmdStartTime=1694980411 LastBusyTime=1697125320 "
    "CfgTRES=cpu=256,mem=2034931M,billing=256,gres/gpu=8 AllocTRES=cpu=128,gres/gpu=8 CapWatts=n/a CurrentWatts=0 "
    "AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s",
    "24.11.5": "NodeName=a1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=128 CPUEfctv=256 CPUTot=256 CPULoad=9.12 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:A800:8(S:0-1) NodeAddr=10.0.0.1 NodeHostName=a1 "
    "Version=24.11.5 OS=Linux 6.12.90+deb13-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.12.90-1 (2026-05-22)  "
    "RealMemory=2034931 AllocMem=0 FreeMem=1644035 Sockets=1 Boards=1 State=MIXED+PLANNED ThreadsPerCore=1 TmpDisk=0 "
    "Weight=1 Owner=N/A MCS_label=N/A Partitions=defq  BootTime=1780317822 SlurmdStartTime=1780318622 "
    "LastBusyTime=1780352907 ResumeAfterTime=None CfgTRES=cpu=256,mem=2034931M,billing=256,gres/gpu=8 "
    "AllocTRES=cpu=128,gres/gpu=8 CurrentWatts=0 AveWatts=0",
    "25.05.5": "NodeName=a1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=128 CPUEfctv=256 CPUTot=256 CPULoad=9.12 "
    "AvailableFeatures=a100 ActiveFeatures=a100 Gres=gpu:A800:8 NodeAddr=10.0.0.1 NodeHostName=ip-10-0-0-1 "
    "Version=25.05.5 OS=Linux 5.10.218 #1 SMP Tue Jun 4 16:52:10 UTC 2024  RealMemory=2034931 AllocMem=0 "
    "FreeMem=1644035 Sockets=64 Boards=1 State=MIXED+CLOUD ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
    "Partitions=defq  BootTime=1719946809 SlurmdStartTime=1720467205 LastBusyTime=1720467205 ResumeAfterTime=None "
    "CfgTRES=cpu=256,mem=2034931M,billing=256,gres/gpu=8 AllocTRES=cpu=128,gres/gpu=8 CapWatts=n/a CurrentWatts=0 "
    "AveWatts=0 ExtSensorsJoules=n/a ExtSensorsWatts=0 ExtSensorsTemp=n/a Reason=Maintain Minimum Number Of Instances "
    "[root@1719946740] InstanceId=i-04927897a9ce3c143 InstanceType=hpc7g.16xlarge",
}


@pytest.mark.parametrize("release", RELEASES)
def test_nodes_of_other_releases(release):
    """Fields come and go and change their order; what is known is the same."""
    (found,) = nodes(RELEASES[release], {}, {}, {}, {})

    assert (found.state, found.drained, found.partitions) == ("mixed", False, ("defq",))
    assert (found.gpus_total, found.gpus_used, found.cpus, found.cpus_used) == (8, 8, 256, 128)
    assert (found.load, found.memory_total, found.memory_used) == (
        9.12,
        2034931 * 2**20,
        (2034931 - 1644035) * 2**20,
    )
    assert {gpu.name for gpu in found.gpus} == {"A800"}


def test_who_drained_and_since_when():
    """The reason's own words, its author and its time."""
    found = one("IDLE+DRAIN", "a fan is <b>loud</b> [alice@1795388732]")

    assert (found.by, found.reason, found.since) == ("person", "alice: a fan is <b>loud</b>", 1795388732.0)
    assert one("DOWN*", "Not responding [slurm@1795388732]").by == "slurm"


def test_a_gpu_that_slurm_does_not_count_is_shown_and_a_value_that_is_none_is_none():
    """Prometheus may know more, or say what is no number; a job by the name that people know."""
    found = one(utilisation={"gpu-node1": {"0": 0.5, "4": "NaN"}}, job={"gpu-node1": {"0": "12", "1": "77"}})

    assert [gpu.index for gpu in found.gpus] == [0, 1, 2, 3, 4]
    assert [gpu.utilisation for gpu in found.gpus] == [0.5, None, None, None, None]
    assert [gpu.job for gpu in found.gpus[:2]] == ["8_3", "77"]
    assert found.gpus[0].name == "a100"


@pytest.mark.parametrize(
    ("tres", "per_node", "count"),
    [
        ("cpu=4,mem=1G,gres/gpu=8,gres/gpu:a100=8", "N/A", 8), ("cpu=4,gres/gpu:a100=2,gres/gpu:h100=3", "", 5),
        ("cpu=4", "gres:gpu:2", 6), ("cpu=4", "gres/gpu:h100:4", 12), ("cpu=4", "gres:gpu:a100-sxm4:1", 3),
        ("cpu=4", "gres/gpu=2", 6), ("", "gres:gpu:h100:4(IDX:0-3)", 12), ("cpu=4", "N/A", 0), ("", "license:2", 0),
    ],
)  # fmt: skip
def test_gpus_as_every_release_writes_them(tres, per_node, count):
    """Of three nodes."""
    assert Job(tres=tres, gres=per_node, nodes=3).gpus == count


def test_teams_without_accounting_are_those_of_the_file_and_of_jobs(recorded):
    """With what they hold and wait for; use and fair share are not known."""
    queue = recorded.made_picture(60, 100).jobs
    found = {team.name: team for team in teams("", queue, {"vision": 0.6, "idle": 0.4})}

    assert (found["idle"].share, found["idle"].gpus) == (0.4, 0)
    assert (found["vision"].share, found["vision"].used) == (0.6, None)
    assert found["language"].share is None
    assert sum(team.gpus for team in found.values()) == sum(job.gpus for job in queue if job.nodes)


def test_fair_trees_say_the_factor_of_users_alone():
    """The best of a team's users stands for it; columns may come in any order, and others beside them."""
    text = (
        "Account|User|FairShare|NormShares|EffectvUsage|LevelFS|New\nroot||||1.0||\n vision|||0.6|0.25|2.4|x\n"
        "  vision|bob|0.5|1|1||\n  vision|eve|0.75|1|0||\n"
    )

    (team,) = teams(text, (), {})
    assert (team.name, team.share, team.used, team.fairshare) == ("vision", 0.6, 0.25, 0.75)


def test_a_row_that_is_cut_is_passed_over(recorded):
    """A connection that broke in the middle of an answer."""
    text = recorded.recorded(60, 100)["said"]["jobs"]

    found = jobs(text[: len(text) // 2], recorded.MARK, {})
    assert 0 < len(found) < 100
    assert jobs("slurm_load_jobs error: nothing", recorded.MARK, {}) == ()
