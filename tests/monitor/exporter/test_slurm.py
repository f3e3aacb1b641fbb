"""Slurm's texts of several releases, as its commands print them, and what is made of them."""

import hashlib

import pytest

from clusterwright.check.drains import drain as checked
from clusterwright.onhost.exporter import slurm_text
from clusterwright.onhost.exporter.collectors.control_host import slurm
from clusterwright.onhost.exporter.commands import command_output
from clusterwright.slurm.drain_reasons import parse_drain_reason
from clusterwright.slurm.jobs import FORMAT_FIELDS
from clusterwright.slurm.nodes import parse_nodes

# Of a lab with Slurm 22.05.8 (2026-11-23).
SDIAG = """*******************************************************
sdiag output at Mon Nov 23 03:38:20 2026 (1795405100)
*******************************************************
Server thread count:  6
Agent queue size:     0

Main schedule statistics (microseconds):
\tLast cycle:   1250
\tMax cycle:    9000

Backfilling stats
\tTotal cycles: 3
\tLast cycle when: Mon Nov 23 03:38:20 2026 (1795405100)
\tLast cycle: 40000
\tMax cycle:  50000

Latency for 1000 calls to gettimeofday(): 23 microseconds
"""
# The first as that lab has it; the others hold to what scontrol of their release prints (src/api/node_info.c of each).
NODES = {
    "22.05": "NodeName=n1 Arch=x86_64 CoresPerSocket=8  CPUAlloc=4 CPUEfctv=16 CPUTot=16 CPULoad=33.09 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:a100:4 GresDrain=N/A GresUsed=gpu:a100:2(IDX:0-1) "
    "NodeAddr=n1 NodeHostName=n1 Version=22.05.8 OS=Linux 6.1 #1 SMP @0  RealMemory=15872 AllocMem=0 FreeMem=12512 "
    "Sockets=2 Boards=1 State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=train,all  "
    "BootTime=1 SlurmdStartTime=1 LastBusyTime=1 CfgTRES=cpu=16,mem=15.50G,billing=427,gres/gpu=4,gres/gpu:a100=4 "
    "AllocTRES=cpu=4,gres/gpu=2 CapWatts=n/a CurrentWatts=0 AveWatts=0",
    "21.08": "NodeName=n1 Arch=x86_64 CoresPerSocket=8 CPUAlloc=4 CPUTot=16 CPULoad=0.10 AvailableFeatures=(null) "
    "Gres=gpu:a100:4(S:0-1) GresDrain=N/A GresUsed=gpu:a100:2(IDX:0-1) NodeAddr=n1 Version=21.08.8 "
    "State=MIXED ThreadsPerCore=1 Partitions=train,all BootTime=1 CfgTRES=cpu=16 AllocTRES=cpu=4 CapWatts=n/a",
    "24.11": "NodeName=n1 Arch=x86_64 CoresPerSocket=8 CPUAlloc=4 CPUEfctv=16 CPUTot=16 CPULoad=0.10 "
    "AvailableFeatures=(null) Gres=gpu:a100:4(S:0-1) GresDrain=N/A GresUsed=gpu:a100:2(IDX:0-1),shard:0 NodeAddr=n1 "
    "State=MIXED+DYNAMIC_NORM ThreadsPerCore=1 Partitions=train,all BootTime=1 LastBusyTime=1 ResumeAfterTime=None "
    "CfgTRES=cpu=16,gres/gpu=4 AllocTRES=cpu=4,gres/gpu=2 CurrentWatts=0 AveWatts=0 InstanceId=x InstanceType=y",
    "unknown": "NodeName=n1 NewKey=a=b State=MIXED+SOMETHING_NEW CPUAlloc=4 CPUTot=16 Gres=gpu:a100:4 Odd "
    "GresUsed=gpu:a100:2(IDX:0-1) Partitions=train,all Another:Key=1",
}


@pytest.mark.parametrize("release", NODES)
def test_a_node_is_read_in_every_release(release):
    """Keys that are new, odd or missing change nothing."""
    (node,) = parse_nodes(NODES[release]).values()

    assert (node.name, node.partitions) == ("n1", ("train", "all"))
    assert (node.cpus, node.cpus_allocated, node.gpus, node.gpus_allocated) == (16, 4, 4, 2)
    assert node.state.short_state == "mixed"


@pytest.mark.parametrize(
    ("said_by_slurm", "state"),
    [
        ("IDLE", "idle"), ("IDLE*", "not_responding"), ("IDLE+NOT_RESPONDING", "not_responding"),
        ("IDLE+DRAIN", "drained"),
        ("MIXED+DRAIN", "draining"), ("ALLOCATED+DRAIN", "draining"), ("DOWN+DRAIN+NOT_RESPONDING", "down"),
        ("IDLE+CLOUD+POWERED_DOWN", "powered_down"), ("IDLE+MAINTENANCE+RESERVED", "maint"),
        ("IDLE+PLANNED", "planned"),
        ("DOWN$", "down"), ("INVAL", "inval"), ("FUTURE", "future"), ("ALLOCATED+COMPLETING", "completing"),
    ],
)  # fmt: skip
def test_a_state_is_one_word(said_by_slurm, state):
    """That of sinfo."""
    (node,) = parse_nodes(f"NodeName=n State={said_by_slurm} CPUTot=1 CPUAlloc=0").values()

    assert node.state.short_state == state


def test_gpus_and_processors_add_up(samples):
    """Held, free, and not to be had: never more than there are, and never less than none."""
    lines = [NODES["22.05"], NODES["22.05"].replace("n1", "n2").replace("State=MIXED", "State=DOWN+DRAIN")]
    lines.append(
        "NodeName=n3 CPUAlloc=20 CPUTot=16 State=ALLOCATED Gres=gpu:2 GresUsed=gpu:3(IDX:0-2) Partitions=all"
    )
    found = samples(slurm.of_nodes(parse_nodes("\n".join(lines)).values()))

    def of(name, partition, state):
        return found.get((name, ("partition", partition), ("state", state)))

    assert [of("slurm_gpus", "all", state) for state in ("allocated", "idle", "other")] == [6, 2, 2]
    assert [of("slurm_cpus", "all", state) for state in ("allocated", "idle", "other")] == [24, 12, 12]
    assert [of("slurm_nodes", "train", state) for state in ("mixed", "down")] == [1, 1]


@pytest.mark.parametrize(
    ("reason", "who"),
    [
        ("Not responding", "slurm"), ("Kill task failed", "slurm"), ("Prolog error", "hooks"),
        ("wright: apply 2026", "command"), ("bad fan, see ticket 12", "person"),
        ("wright: gpu-lost [00000000]", "person"),
        ("OURS", "health"), ("", "person"),
    ],
)  # fmt: skip
def test_who_drained_is_what_the_check_says(reason, who):
    """Both read reasons alike, with and without who wrote them and when."""
    if reason == "OURS":
        text = "wright: gpu-lost 3 GPUs"
        reason = f"{text} [{hashlib.sha256(text.encode()).hexdigest()[:8]}]"
    for written in (reason, f"{reason} [root@2026-11-21T13:10:05]"):
        assert parse_drain_reason(written).origin == checked("n1", written).origin == who


def test_a_reason_that_looks_like_a_key_is_a_reason(samples):
    """Whatever stands in it."""
    reason = "State=DOWN CPUTot=99 [bob@2026-11-21T13:10:05]"
    line = f"NodeName=n1 State=IDLE+DRAIN CPUTot=1 CPUAlloc=0 Partitions=a Reason={reason} Comment=State=FAIL"
    (info,) = [
        key
        for key in samples(slurm.of_nodes(parse_nodes(line).values()))
        if key[0] == "slurm_node_drain_info"
    ]

    assert dict(info[1:]) == {"node": "n1", "who": "person", "reason": "State=DOWN CPUTot=99"}


def row(**cells):
    """A row of squeue, in its columns."""
    given = {
        "JobID": "7", "State": "PENDING", "Partition": "train", "Account": "language", "Reason": "Resources",
        "SubmitTime": "1000", "EligibleTime": "1000", "tres-alloc": "cpu=4,node=1,gres/gpu=2,gres/gpu:a100=2",
    } | cells  # fmt: skip
    return "".join(str(given[FORMAT_FIELDS[name]])[:width].ljust(width) for name, width in slurm_text.COLUMNS)


def test_jobs_are_counted_with_their_gpus(samples):
    """By partition, account and state; of a job that asks for several partitions the first."""
    text = "\n".join(
        [row(), row(JobID="8_[1-9]", Partition="train,all"), row(JobID=9, State="RUNNING", Reason="None")]
    )
    found = samples(slurm.of_jobs(slurm_text.jobs(text), 1600.0))
    pending = (("account", "language"), ("partition", "train"), ("state", "pending"))

    assert found["slurm_jobs", *pending] == 2
    assert found["slurm_job_gpus", *pending] == 4
    assert found["slurm_wait_seconds", ("account", "language"), ("partition", "train")] == 600


@pytest.mark.parametrize(
    "cells",
    [
        {"Reason": "JobHeldUser"}, {"Reason": "Dependency"}, {"SubmitTime": "Unknown", "EligibleTime": "N/A"},
        {"State": "RUNNING"},
    ],
)  # fmt: skip
def test_who_could_not_run_anyway_waits_for_nobody(samples, cells):
    """Held jobs, and those whose moment is not known."""
    found = samples(slurm.of_jobs(slurm_text.jobs(row(**cells)), 1600.0))

    assert not [key for key in found if key[0] == "slurm_wait_seconds"]


def test_a_clock_that_is_behind_makes_no_wait_negative(samples):
    """The job comes from a moment that has not been yet."""
    found = samples(slurm.of_jobs(slurm_text.jobs(row(SubmitTime=9000)), 1600.0))

    assert found["slurm_wait_seconds", ("account", "language"), ("partition", "train")] == 0


@pytest.mark.parametrize(
    "text", ["", "slurm_load_jobs error: Unable to contact slurm controller", "\x00\n\n", "a" * 5000]
)
def test_what_is_no_row_is_passed_over(text):
    """As what a command says when it fails."""
    assert slurm_text.jobs(text) == []
    assert parse_nodes(text) == {}
    assert slurm_text.shares(text) == []
    assert slurm_text.diagnosis(text) == {}


def test_the_schedulers_cycles_are_told():
    """In seconds; each from its own part."""
    assert slurm_text.diagnosis(SDIAG) == {"threads": 6, "cycle": 0.00125, "backfill": 0.04}


def test_shares_are_those_of_accounts(samples):
    """Of fair tree only users have a factor; without accounting there is nothing."""
    users = "  language|alice|1.0|1.0|0.25\n  language|bob|0.5|0.0|0.75\n"
    text = f"root||0.0|1.0|\n language||0.4|0.7|\n{users} vision||0.6|0.3|0.5\n"
    found = samples(slurm.of_shares(slurm_text.shares(text)))

    assert found["slurm_share_ratio", ("account", "language")] == 0.4
    assert found["slurm_use_ratio", ("account", "language")] == 0.7
    assert found["slurm_fairshare_ratio", ("account", "language")] == 0.5
    assert found["slurm_fairshare_ratio", ("account", "vision")] == 0.5
    assert ("slurm_share_ratio", ("account", "root")) not in found


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """`commands(sdiag="...")`: programs of these names that print that, or fail; in front of all others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def put(**texts):
        for name in ("sdiag", "scontrol", "squeue", "sshare"):
            path = folder / name
            ends = "exit 1" if texts.get(name) is None else f"cat <<'END'\n{texts[name]}\nEND"
            path.write_text(f"#!/bin/sh\n{ends}\n")
            path.chmod(0o755)

    return put


def test_accounting_that_is_off_takes_only_shares(commands, settings, samples):
    """Sshare fails then."""
    commands(sdiag=SDIAG, scontrol=NODES["22.05"], squeue=row(), sshare=None)
    found = samples(slurm.collect(settings(control=True), {}))

    assert found["slurm_up",] == 1
    assert found["slurm_cycle_seconds",] == 0.00125
    assert [key for key in found if key[0] == "slurm_jobs"]
    assert not [key for key in found if key[0] == "slurm_share_ratio"]


def test_a_controller_that_is_silent_is_told(commands, settings, samples):
    """By the one number that says so."""
    commands()

    assert samples(slurm.collect(settings(control=True), {})) == {("slurm_up",): 0}


def test_a_command_that_gives_no_answer_is_left(tmp_path):
    """In its own time."""
    assert command_output(["sleep", "60"], 0.2) is None
    assert command_output(["no-such-program"], 5) is None
    assert command_output(["echo", "x"], 20) == "x\n"
