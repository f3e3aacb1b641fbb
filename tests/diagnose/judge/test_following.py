"""A failure that another one brings about is told as its consequence, wherever in the logs it stands."""

import pytest

from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.reading import of_text, read

AGAIN = "RuntimeError: raised again in a worker"
PIPE = "the pipe broke off"
DISK = "the disk has gone away"
SILENT = "node gpu-1 is silent"
KEY = "the key of the cluster is wrong"
GENERAL = "it did not work out"
GAP = "step\n" * 100

MODES = {
    "dataloader/raised-again": {"has": AGAIN, "follows": ["*"]},
    "rendezvous/pipe": {"has": PIPE, "follows": ["*"]},
    "storage-io/disk": {"has": DISK, "certain": 0.6},
    "node-lost/silent": {
        "has": {"has": "is silent", "like": r"node (?P<host>\S+) is"}, "exclude": "host",
        "follows": ["slurm-auth", "storage-io/disk"],
    },
    "slurm-auth/key": {"has": KEY, "certain": 0.6},
    "user-code/general": {"has": GENERAL, "certain": 0.4},
    "checkpoint-corrupt/reading": {"has": "another reading of it: " + DISK, "follows": ["storage-io"]},
}  # fmt: skip


@pytest.fixture
def known(knowing):
    """The modes above."""
    return knowing(MODES)


@pytest.fixture
def asked(known):
    """The diagnoses of one log."""
    return lambda text: judge(read([of_text("a.log", text)], known))


def roles(diagnoses):
    """Mode and role, the likeliest first."""
    return [(each.mode.partition("/")[2], each.role) for each in diagnoses]


@pytest.mark.parametrize("text", [f"{DISK}\n{AGAIN}", f"{AGAIN}\n{DISK}", f"{DISK}\n{GAP}{AGAIN}"])
def test_what_repeats_another_failure_follows_from_whatever_is_there(asked, text):
    """A launcher's report and a library's second exception, before or after the first one."""
    said = asked(text)

    assert roles(said) == [("disk", "root"), ("raised-again", "cascade")]
    assert said[1].confidence <= 0.4


def test_what_comes_long_after_a_report_is_no_cause_of_it(asked):
    """The report was of something else."""
    assert roles(asked(f"{AGAIN}\n{GAP}{DISK}"))[0] == ("raised-again", "root")


def test_of_two_reports_neither_follows_from_the_other(asked):
    """Each may stand for anything, and so they say nothing of one another."""
    assert {role for _, role in roles(asked(f"{AGAIN}\n{PIPE}"))} == {"root"}


def test_a_general_text_is_no_cause_of_a_report(asked):
    """What takes any line explains nothing."""
    assert ("raised-again", "root") in roles(asked(f"{GENERAL}\n{AGAIN}"))


def test_alone_it_is_told_as_it_is(asked):
    """With no cause in sight, the report is all there is."""
    assert roles(asked(AGAIN)) == [("raised-again", "root")]


@pytest.mark.parametrize("text", [f"{KEY}\n{GAP}{SILENT}", f"{SILENT}\n{GAP}{KEY}", f"{SILENT}\n{GAP}{DISK}"])
def test_a_mode_or_a_class_that_is_named_is_the_cause_in_any_order(asked, text):
    """Slurmctld writes that a node is silent before slurmd has given up and says why."""
    assert dict(roles(asked(text)))["silent"] == "cascade"


def test_a_cause_more_than_ten_minutes_later_is_none(asked):
    """By stamps of one clock."""
    late = f"2026-01-02T03:00:00 {SILENT}\n2026-01-02T03:10:05 {KEY}"
    near = f"2026-01-02T03:00:00 {SILENT}\n2026-01-02T03:09:55 {KEY}"

    assert dict(roles(asked(late)))["silent"] == "root"
    assert dict(roles(asked(near)))["silent"] == "cascade"


def test_what_befell_one_host_does_not_explain_another(known):
    """A key that is wrong on gpu-2 leaves gpu-1 as it is; on gpu-1 it is the cause, and where no host is named."""

    def role(host):
        logs = [of_text("control.log", SILENT), of_text("slurmd.log", KEY, host=host)]
        return dict(roles(judge(read(logs, known))))["silent"]

    assert [role(host) for host in ("gpu-2", "gpu-1", "")] == ["root", "cascade", "cascade"]


def test_another_reading_of_the_same_line_is_no_cause(asked):
    """One line cannot be what came before it."""
    said = dict(roles(asked(f"another reading of it: {DISK}")))

    assert said["reading"] == "root"
