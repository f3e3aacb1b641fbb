"""`wright check`: what it prints, and how it ends."""

import json
from pathlib import Path

import pytest

from clusterwright import check as checking
from clusterwright.check import Status, Verdict
from clusterwright.cli.check import check
from clusterwright.errors import WrightError

LAB = Path(__file__).parents[2] / "examples/lab/cluster.yaml"
OK = Verdict("n1", "ssh", Status.OK, "answers", "an answer")
FAIL = [
    Verdict(f"n{n}", "munge_on_host", Status.FAIL, "no socket", "Success", "restart munge") for n in (2, 3)
]
UNKNOWN = Verdict("n4", "kernel_equal", Status.UNKNOWN, "not reached")


@pytest.fixture
def found(monkeypatch):
    """Sets what is found: the way to the hosts is the runner's test, here it is words and exit codes."""
    return lambda verdicts: monkeypatch.setattr(checking, "run", lambda *_, **__: verdicts)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [([OK], 0), ([OK, *FAIL, UNKNOWN], 5), ([OK, UNKNOWN], 1), ([Verdict("n1", "x", Status.WARN, "y")], 0)],
)
def test_the_exit_code_is_that_of_the_worst(found, verdicts, code, capsys):
    """5 for a fault; 1 when something could not be seen: unknown is not green."""
    found(verdicts)

    assert check(LAB) == code
    capsys.readouterr()


def test_the_table_folds_hosts_and_hides_what_is_ok(found, capsys):
    """Data on stdout, the counts on stderr."""
    found([OK, *FAIL, UNKNOWN])
    check(LAB)
    said = capsys.readouterr()

    assert "n[2-3]" in said.out
    assert "restart munge" in said.out
    assert "answers" not in said.out
    assert said.err == "1 ok, 0 warn, 2 fail, 1 unknown, 0 skipped\n"


def test_all_shows_what_is_ok(found, capsys):
    """--all leaves nothing out."""
    found([OK])
    check(LAB, everything=True)

    assert "answers" in capsys.readouterr().out


def test_json_is_one_document_with_counts_and_every_verdict(found, capsys):
    """Unfolded, so that a program need not expand hostlists."""
    found([OK, *FAIL])
    check(LAB, json=True)
    document = json.loads(capsys.readouterr().out)

    assert document["counts"] == {"ok": 1, "warn": 0, "fail": 2, "unknown": 0, "skipped": 0}
    assert document["verdicts"][1] == {
        "subject": "n2", "check": "munge_on_host", "status": "fail",
        "saw": "no socket", "want": "Success", "mend": "restart munge",
    }  # fmt: skip


def test_a_broken_hostlist_is_refused_with_the_form_that_is_right(found):
    """Before any host is asked; exit code 2."""
    found([OK])

    with pytest.raises(WrightError, match="bad-hostlist") as caught:
        check(LAB, hosts="gpu-node[1-2")

    assert caught.value.exit_code == 2
