"""`wright check`: what it prints, and how it ends."""

import json
from pathlib import Path

import pytest

from clusterwright import check as checking
from clusterwright.check import Status, Verdict
from clusterwright.check.bench import store
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

    assert check(cluster=LAB) == code
    capsys.readouterr()


def test_the_table_folds_hosts_and_hides_what_is_ok(found, capsys):
    """Data on stdout, the counts on stderr."""
    found([OK, *FAIL, UNKNOWN])
    check(cluster=LAB)
    said = capsys.readouterr()

    assert "n[2-3]" in said.out
    assert "restart munge" in said.out
    assert "answers" not in said.out
    assert said.err.splitlines() == [
        "3 checks; --all shows those that are ok or do not apply",
        "1 ok, 0 warn, 2 fail, 1 unknown, 0 skipped",
    ]


def test_a_host_without_ssh_is_one_line(found, capsys):
    """Not one for each check of it, unless --all asks for them; an unknown check of another host stays."""
    lost = [
        Verdict("n2", "ssh", Status.FAIL, "No route to host", "an SSH session"),
        *(Verdict("n2", f"check{number}", Status.UNKNOWN, "no SSH connection") for number in range(70)),
    ]
    found([OK, *lost, UNKNOWN])
    assert check(cluster=LAB.parents[1] / "university" / "cluster.yaml") == 5
    short = capsys.readouterr()
    check(cluster=LAB.parents[1] / "university" / "cluster.yaml", everything=True)

    assert [line.split("\t")[:3] for line in short.out.splitlines()[1:]] == [
        ["fail", "ssh", "n2"],
        ["unknown", "kernel_equal", "n4"],
    ]
    assert "n2: all other checks are unknown without SSH; --all shows them" in short.err
    assert "1 fail, 71 unknown" in short.err
    assert "check69" in capsys.readouterr().out


def test_all_shows_what_is_ok(found, capsys):
    """--all leaves nothing out."""
    found([OK])
    check(cluster=LAB, everything=True)

    assert "answers" in capsys.readouterr().out


def test_json_is_one_document_with_counts_and_every_verdict(found, capsys):
    """Unfolded, so that a program need not expand hostlists."""
    found([OK, *FAIL])
    check(cluster=LAB, json=True)
    document = json.loads(capsys.readouterr().out)

    assert document["counts"] == {"ok": 1, "warn": 0, "fail": 2, "unknown": 0, "skipped": 0}
    assert document["verdicts"][1] == {
        "subject": "n2", "check": "munge_on_host", "status": "fail",
        "observed": "no socket", "expected": "Success", "fix": "restart munge", "part": "", "codes": [],
    }  # fmt: skip


def test_a_part_is_named_beside_its_host(found, capsys):
    """Which GPU, which link."""
    found([Verdict("n1", "link_speed", Status.FAIL, "10Gbit/s", "100Gbit/s", "see the cable", "compute")])
    check(cluster=LAB)

    assert "n1: compute" in capsys.readouterr().out


def test_a_report_is_a_page_and_the_same_as_json(found, capsys, tmp_path):
    """Both, and the exit code stays that of what was found."""
    found([OK, *FAIL])

    assert check(cluster=LAB, html=tmp_path / "made" / "acceptance.html") == 5
    capsys.readouterr()
    assert "restart munge" in (tmp_path / "made" / "acceptance.html").read_text()
    assert json.loads((tmp_path / "made" / "acceptance.json").read_text())["counts"]["fail"] == 2


def test_a_report_holds_the_newest_bench_of_each_kind(found, capsys, tmp_path, monkeypatch):
    """An older one of the same kind is history; without any, the page says that nothing was measured."""
    monkeypatch.setattr(store, "state_folder", lambda _name: tmp_path)
    found([OK])
    check(cluster=LAB, html=tmp_path / "before.html")
    for saw in ("old", "new"):
        slow = Verdict("gpu-node2", "network", Status.FAIL, saw, "fast", "see the cable", "compute")
        store.save(
            tmp_path / store.FILE, store.Stored(0, "network", 1e9, "7", ("gpu-node2",), (), (), (slow,), {})
        )
    check(cluster=LAB, html=tmp_path / "after.html")
    capsys.readouterr()
    before, after = ((tmp_path / f"{name}.html").read_text() for name in ("before", "after"))

    assert "No benchmark ran" in before
    assert "bench network, run 2 of 2001-09-0" in after
    assert "gpu-node2, compute: failed" in after
    assert "<td>new</td>" in after
    assert "<td>old</td>" not in after


def test_metrics_are_written_for_node_exporter(found, capsys, tmp_path):
    """Beside a report or without one; the mode lets the exporter's user read it."""
    found([OK, *FAIL])
    to = tmp_path / "clusterwright.prom"

    assert check(cluster=LAB, metrics=to) == 5
    assert f"written: {to}" in capsys.readouterr().err
    assert 'check="munge_on_host",cluster="lab",host="n2",part="",status="fail"} 1.0' in to.read_text()
    assert to.stat().st_mode & 0o777 == 0o644


def test_a_report_that_cannot_be_written_is_said(found, tmp_path):
    """A file stands where a folder is meant."""
    found([OK])
    (tmp_path / "file").write_text("")

    with pytest.raises(WrightError, match="report-not-written"):
        check(cluster=LAB, html=tmp_path / "file" / "acceptance.html")


def test_a_broken_hostlist_is_refused_with_the_form_that_is_right(found):
    """Before any host is asked; exit code 2."""
    found([OK])

    with pytest.raises(WrightError, match="bad-hostlist") as caught:
        check(cluster=LAB, hosts="gpu-node[1-2")

    assert caught.value.exit_code == 2


def test_where_no_host_was_named_all_are_asked(monkeypatch, capsys):
    """None says all, an empty tuple nobody: a check that asks nobody finds nothing wrong."""
    asked = {}
    monkeypatch.setattr(checking, "run", lambda *_, **options: asked.update(options) or [OK])
    check(cluster=LAB)
    capsys.readouterr()

    assert asked["hosts"] is None
