"""Jobs that waited on Slurm 22.05 with accounting, as Slurm described them: the explanation and the command."""

from pathlib import Path

import pytest

from clusterwright.diagnose.gather.sections import sections
from clusterwright.diagnose.pending import Facts, explain
from clusterwright.diagnose.pending.report import diagnosis, format_waiting

RECORDED = Path(__file__).with_name("recorded")

# What was recorded (tests/diagnose/test_why_lab.py makes each of them), and the command that started the job.
COMMANDS = {
    "resources": "TresPerNode=gres:gpu:2",
    "resources-exclusive": "OverSubscribe=YES",
    "priority": "TimeLimit=",
    "partition-time-limit": "TimeLimit=00:10:00",
    "partition-inactive": "Partition=train",
    "nodes-out": "state=RESUME",
    "before-maintenance": "TimeLimit=",
    "reservation-not-begun": "ReservationName=",
    "dependency": "Dependency=",
    "dependency-never": "Dependency=",
    "array-task-limit": "ArrayTaskThrottle=2",
    "qos-jobs-peruser": "sacctmgr -i modify qos normal set MaxJobsPU=2",
    "qos-gpu-grp": "TresPerNode=gres:gpu:1",
    "qos-gpu-min": "sacctmgr -i modify qos normal set MinTRES=gres/gpu=1",
    "assoc-gpu-grp": "sacctmgr -i modify account vision set GrpTRES=gres/gpu=4",
    "assoc-time-perjob": "TimeLimit=00:10:00",
    "licenses": "Licenses=",
    "bad-constraints": "Features= && scontrol release",
    "invalid-account": "Account=vision",
    "invalid-qos": "QOS=normal",
    "requeued": "StartTime=now",
    "requeued-prolog": "StartTime=now",
}


def recorded(name, **changes):
    """Facts of a job that waited; with other texts in some of its parts, each as (old, new)."""
    texts = sections((RECORDED / f"{name}.txt").read_text())
    for part, (old, new) in changes.items():
        assert old in texts[part], (part, old)
        texts[part] = texts[part].replace(old, new)
    return Facts(texts)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reason_and_the_change_are_found_in_what_slurm_says(name):
    """One explanation, the command with the job's own id, with Slurm's line as evidence."""
    facts = recorded(name)
    said = explain(facts)

    assert said.id == name
    assert COMMANDS[name] in said.change.command
    assert "sacctmgr" in said.change.command or name == "nodes-out" or facts.id in said.change.command
    assert said.reason in said.evidence[0][1]
    assert said.cause.endswith(".")


def test_what_can_never_fit_is_said_with_the_most_there_is():
    """More GPUs, memory or another type than any node has."""
    gpus = explain(recorded("resources", job=("TresPerNode=gres:gpu:4", "TresPerNode=gres:gpu:6")))
    kind = explain(recorded("resources", job=("TresPerNode=gres:gpu:4", "TresPerNode=gres:gpu:h100:4")))
    memory = explain(recorded("resources", job=("MinMemoryCPU=928M", "MinMemoryNode=64G")))

    assert (gpus.id, gpus.change.command[-20:]) == ("never-fits-gpus", "TresPerNode=gres:gpu:4"[-20:])
    assert (kind.id, kind.change.command.split()[-1]) == ("never-fits-type", "TresPerNode=gres:gpu:4")
    assert (memory.id, memory.change.command.split()[-1]) == ("never-fits-memory", "MinMemoryNode=14848")
    assert gpus.starts == "not by itself"


def test_without_accounting_limits_are_still_named():
    """`scontrol show assoc_mgr` and sacctmgr say nothing: the reason is explained, the limit is not known."""
    facts = recorded("qos-jobs-peruser")
    said = explain(
        Facts({name: text for name, text in facts.texts.items() if name not in {"limits", "allowed"}})
    )

    assert said.id == "qos-jobs-peruser"
    assert said.change is None
    assert "not known" in said.cause


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("launch_failed_requeued_held", "launch-failed-held"),
        ("JobHeldAdmin", "held-by-admin"),
        ("Prolog", "prolog"),
        ("Cleaning", "cleaning"),
        ("(null)", "not-looked-at"),
        ("WarpCoreCold", "unknown"),
        ("PartitionConfig", "partition-node-limit"),
        ("ReqNodeNotAvail,_Reserved_for_maintenance", "resources"),
        ("QOSMaxMemoryPerUser", "qos-mem-peruser"),
        ("QOSMaxNodePerJobLimit", "qos-node-perjob"),
        ("QOSGrpWallLimit", "qos-time-grp"),
        ("MaxGRESPerAccount", "qos-gpu-peraccount"),
        ("AssocGrpMemLimit", "assoc-mem-grp"),
        ("AssociationJobLimit", "assoc-jobs-peruser"),
        ("QOSMinGRES", "qos-gpu-min"),
    ],
)
def test_every_reason_has_a_speaker_or_is_said_as_it_is(reason, name):
    """Reasons of other releases, and ones that could not be brought about on the lab; none makes it fail."""
    facts = recorded("resources", job=("Reason=Resources", f"Reason={reason}"))

    assert explain(facts).id == name


def test_an_unknown_reason_is_quoted_and_gives_no_command():
    """Nothing is made up."""
    said = explain(recorded("resources", job=("Reason=Resources", "Reason=WarpCoreCold")))

    assert "`WarpCoreCold`" in said.cause
    assert said.change is None
    assert diagnosis(said, "7").confidence == 0


def test_who_holds_what_it_needs_and_until_when():
    """The other user's job, by id, hosts and end."""
    said = explain(recorded("resources"))

    assert any("alice" in one and "gpu-node" in one and "until 20" in one for one in said.held_by)
    assert said.starts.startswith("expected 20")


def test_a_person_reads_it_in_one_screen():
    """The state, the cause, the start, who holds it, the command and who runs it."""
    said = explain(recorded("qos-jobs-peruser"))
    text = format_waiting(said, "12").splitlines()

    assert text[0].startswith("12: PENDING (QOSMaxJobsPerUserLimit)")
    assert [line.split()[0] for line in text[1:4]] == ["reason", "starts", "held"]
    assert text[-1].split()[-1] == "administrator"


def test_a_hostile_name_cannot_become_a_command():
    """Names out of Slurm are quoted where they stand in a command."""
    facts = recorded("invalid-account", allowed=("vision|bob", "$(reboot)|bob"))
    said = explain(facts)

    assert "'$(reboot)'" in said.change.command
