"""`wright bench`: what it asks for, what it prints, and how it ends."""

import json
from pathlib import Path

import pytest

from clusterwright.check import Status, Verdict
from clusterwright.check.bench import run as running
from clusterwright.check.bench.measure import Measurement
from clusterwright.check.bench.store import Stored, file_of, save
from clusterwright.cli.bench import Common, compare, list_, memory, network
from clusterwright.errors import WrightError

LAB = Path(__file__).parents[2] / "examples/lab/cluster.yaml"


def verdict(status, subject="gpu-node1"):
    """One of a network."""
    return Verdict(subject, "network", status, "5 B/s", "9 B/s", "reseat it", "sending")


def stored(*verdicts, value=5.0):
    """One bench."""
    measured = Measurement("network", "a>b", "bandwidth", "bytes/s", value, ("a", "b"), {"tool": "iperf3"})
    versions = {"a": {"kernel": "6.1"}}
    return Stored(3, "network", 1.7e9, "17", ("a", "b"), ("no iperf3 on b",), (measured,), verdicts, versions)


@pytest.fixture
def asked(monkeypatch):
    """What the command asks for; the running itself is tested on a lab, here it is words and exit codes."""
    wishes = []

    def set_to(*verdicts):
        def run(kind, _cluster, _remote, wish, **_):
            wishes.append((kind, wish))
            return stored(*verdicts)

        monkeypatch.setattr(running, "run", run)
        return wishes

    return set_to


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([Status.OK], 0), ([Status.OK, Status.WARN], 0), ([Status.UNKNOWN, Status.OK], 1),
        ([Status.FAIL, Status.UNKNOWN], 5),
    ],
)  # fmt: skip
def test_the_exit_code_is_that_of_the_worst(asked, statuses, code, capsys):
    """5 for a fault; 1 when something could not be seen."""
    asked(*map(verdict, statuses))

    assert network(cluster=LAB) == code
    capsys.readouterr()


def test_what_is_ok_is_counted_and_not_shown(asked, capsys):
    """Unless it is asked for; notes and the number of the bench are told."""
    asked(verdict(Status.OK), verdict(Status.FAIL, "gpu-node3"))
    network(cluster=LAB)
    out, err = capsys.readouterr()

    assert "gpu-node3" in out
    assert "gpu-node1" not in out
    assert "note: no iperf3 on b" in err
    assert "1 ok, 0 warn, 1 fail, 0 unknown, 0 skipped" in err
    assert "bench 3: 1 measurement stored" in err

    network(cluster=LAB, common=Common(everything=True))
    assert "gpu-node1" in capsys.readouterr().out


def test_json_is_one_document(asked, capsys):
    """Counts, measurements with their conditions, verdicts, versions."""
    asked(verdict(Status.OK))
    memory(cluster=LAB, common=Common(json=True))
    document = json.loads(capsys.readouterr().out)

    assert document["counts"]["ok"] == 1
    assert document["measurements"][0]["conditions"] == {"tool": "iperf3"}
    assert document["versions"] == {"a": {"kernel": "6.1"}}


def test_the_job_is_the_first_admins_unless_said_otherwise(asked, capsys):
    """And what is typed is what is wished for."""
    wishes = asked(verdict(Status.OK))
    network(cluster=LAB)
    memory(cluster=LAB, common=Common(hosts="gpu-node[1-2]", wait="2m", as_user="bob", reservation="maint"))
    capsys.readouterr()

    (first, default), (second, wish) = wishes
    assert (first, default.user, default.hosts, default.wait_s) == ("network", "alice", (), 600)
    assert (second, wish.user, wish.hosts) == ("memory", "bob", ("gpu-node1", "gpu-node2"))
    assert (wish.wait_s, wish.reservation) == (120, "maint")


def test_a_hostlist_that_is_none_is_refused(asked):
    """Before anything is asked of the cluster."""
    with pytest.raises(WrightError, match="bad-hostlist"):
        network(cluster=LAB, common=Common(hosts="gpu-node[1-"))


def test_benches_are_listed_and_compared(tmp_path, monkeypatch, capsys):
    """What was kept, the newest first; and what moved, with its conditions."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one, other = (save(file_of("lab"), stored(verdict(Status.OK), value=value)) for value in (8e6, 4e6))
    list_(cluster=LAB)
    out = capsys.readouterr().out
    assert out.index("\n2\t") < out.index("\n1\t")
    assert "1 ok" in out

    compare(one, other, cluster=LAB)
    out, err = capsys.readouterr()
    assert "-50.0%" in out
    assert "tool iperf3" in out
    assert "their spread: 1 of 1" in err
    compare(one, other, cluster=LAB, json=True)
    assert json.loads(capsys.readouterr().out)["changes"][0]["changed"] is True
