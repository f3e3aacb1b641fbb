"""Slurm's text, as it prints it, and whose a drain is."""

import hashlib

import pytest

from clusterwright.check.drains import drain
from clusterwright.heal.observation import HostStatus
from clusterwright.heal.slurm_text import findings_of, jobs_of, node_of, nodes_of, with_record
from clusterwright.slurm.states import parse_node_state

SIGNED = "[root@2026-11-23T03:00:00]"


def line(state, reason="", more=""):
    """A line of `scontrol show node -o` of 22.05, shortened."""
    said = f" Reason={reason} {SIGNED}" if reason else ""
    return (
        f"NodeName=n1 Arch=x86_64 State={state} ThreadsPerCore=1 Partitions=train,all BootTime=x{said}{more}"
    )


def health(words):
    """A reason as the host's health program signs it."""
    text = f"wright: {words}"
    return f"{text} [{hashlib.sha256(text.encode()).hexdigest()[:8]}]"


@pytest.mark.parametrize(
    ("text", "holder", "out", "answers"),
    [
        (line("IDLE"), "free", False, True),
        (line("MIXED+PLANNED"), "free", False, True),
        (line("IDLE*"), "free", True, False),
        (line("DOWN*", "Not responding"), "slurm", True, False),
        (line("DOWN+NOT_RESPONDING", "Not responding"), "slurm", True, False),
        (line("IDLE+DRAIN", "wright: heal #12 gpu_lost: x"), "heal", True, True),
        (line("IDLE+DRAIN", "wright: spare"), "spare", True, True),
        (line("IDLE+DRAIN", "wright: apply 20261123T030000Z"), "command", True, True),
        (line("ALLOCATED+DRAIN", health("gpu-lost 3 GPUs answer")), "health", True, True),
        (line("ALLOCATED+DRAIN", health("gpu-lost 3 GPUs answer")[:-3] + "00]"), "person", True, True),
        (line("IDLE+DRAIN", "Kill task failed"), "slurm", True, True),
        (line("IDLE+DRAIN", "Prolog error"), "hooks", True, True),
        (line("IDLE+DRAIN", "fan State=IDLE broken", " Comment=x Reason=y"), "person", True, True),
        (line("IDLE+POWERED_DOWN"), "free", False, True),
        (line("DOWN+CLOUD+POWERED_DOWN"), "free", False, False),
        (line("IDLE~"), "free", False, True),
    ],
)
def test_a_node_as_slurm_prints_it(text, holder, out, answers):
    """Whose it is, whether it takes jobs, whether it is heard; a host that is switched off is not out."""
    node = node_of(text)

    assert (node.name, node.partitions) == ("n1", ("train", "all"))
    assert (node.holder, node.out, node.state.is_up) == (holder, out, answers)


def test_a_host_that_is_being_booted_is_left_alone():
    """In the words of several releases."""
    for state in ("IDLE+DRAIN+REBOOT_ISSUED", "DOWN+REBOOT", "IDLE+POWERING_UP", "IDLE+POWERING_DOWN"):
        assert node_of(line(state)).changing, state


def test_what_the_health_program_found_is_found_part_by_part():
    """Each fault of its reason is one."""
    node = node_of(
        line(
            "IDLE+DRAIN",
            health("gpu-lost 3 GPUs answer; mount-missing /data is not mounted; gpu-xid 79 off the bus"),
        )
    )

    assert [each.code for each in findings_of([node])] == ["gpu-lost", "mount-missing", "gpu-xid-79"]


def test_jobs_and_who_has_them():
    """An array's waiting tasks too; hosts of ended jobs are free."""
    jobs = jobs_of("7|RUNNING|ann||n[1-2]\n8_[3-5]|PENDING|bob|n9|\n9|FAILED|bob||n1\nslurm: warning\n")
    nodes = nodes_of(line("MIXED") + "\n", jobs)

    assert nodes["n1"].jobs == ("7",)
    assert jobs["8_[3-5]"].excludes == ("n9",)
    assert jobs["7"].user == "ann"
    assert with_record(jobs["7"], "JobId=7 Requeue=1 Restarts=2 BatchFlag=1").can_requeue
    assert not with_record(jobs["7"], "JobId=7 Requeue=1 Restarts=0 BatchFlag=0").can_requeue
    assert not with_record(jobs["7"], "").can_requeue


def test_nothing_and_nonsense_are_no_hosts():
    """What is not Slurm's is passed over."""
    assert nodes_of("", {}) == {}
    assert nodes_of("error: slurm\n\n", {}) == {}
    assert isinstance(node_of("NodeName=x"), HostStatus)


def test_why_says_that_heal_has_it():
    """`wright why NODE` and the check of Slurm's states name us, not a person."""
    found = drain("n1", f"wright: heal #12 gpu_lost: off the bus {SIGNED}")

    assert (found.origin, found.by) == ("command", "wright heal")
    assert "wright heal log" in found.fix


@pytest.mark.parametrize(
    "text", ["x Requeue=1 Restarts=0 BatchFlag=1", "x UserId=a(1) JobState=RUNNING Requeue=1 BatchFlag=1"]
)
@pytest.mark.parametrize("place", ["JobName", "Comment"])
def test_no_name_or_comment_makes_a_job_one_that_can_be_requeued(place, text):
    """Only what slurmctld writes behind the name and before the user's texts counts."""
    texts = {"JobName": "j", "Comment": "c", place: text}
    record = (
        f"JobId=7 JobName={texts['JobName']} UserId=eve(1) GroupId=a(1) JobState=RUNNING Requeue=0 Restarts=3 "
        f"BatchFlag=1 NodeList=n1 Command=/x Comment={texts['Comment']} StdOut=/x/o\n"
    )
    (job,) = jobs_of("7|RUNNING|eve||n1\n").values()

    assert not with_record(job, record).can_requeue


@pytest.mark.parametrize(
    ("state", "out"),
    [
        ("IDLE+POWERED_DOWN", False), ("IDLE+DRAIN+POWERED_DOWN", True), ("IDLE+DRAIN+POWERING_DOWN", False),
        ("IDLE+DRAIN", True), ("IDLE+POWERING_UP", False), ("IDLE", False),
    ],
)  # fmt: skip
def test_a_drained_host_is_out_although_it_is_powered_down(state, out):
    """Such as one that failed to boot: it counts toward the share of hosts that may be out of service."""
    assert HostStatus("n1", parse_node_state(state)).out is out
