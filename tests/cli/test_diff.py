"""`wright diff` as a user meets it."""

import json
from pathlib import Path

import pytest

from clusterwright.cli.diff import diff, drift_lines
from clusterwright.config.field import Cost
from clusterwright.errors import SpecError
from clusterwright.provision.change.drift import DriftRow

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


@pytest.fixture
def other(tmp_path):
    """The lab's file with another text in it."""

    def write(old, new):
        path = tmp_path / "new.yaml"
        text = LAB.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return path

    return write


def test_two_files_are_compared_field_by_field(other, capsys):
    """Both sides, the cost, and in words what it does to running jobs."""
    new = other("node_timeout: 15s", "node_timeout: 20s")

    assert diff(new, cluster=LAB) == 0
    said = capsys.readouterr()
    assert said.out == (
        "slurm.node_timeout: 15s -> 20s  [reconfigure] Slurm rereads its configuration; no effect on running jobs\n"
    )
    assert said.err.startswith("1 field differs: [reconfigure]")


def test_the_exit_code_says_that_there_is_a_difference(other, capsys):
    """Only when asked; none where nothing differs."""
    assert diff(other("node_timeout: 15s", "node_timeout: 20s"), cluster=LAB, exit_code=True) == 3
    assert diff(LAB, cluster=LAB, exit_code=True) == 0
    assert "the files do not differ" in capsys.readouterr().err


def test_hosts_that_come_and_go_are_named(other, capsys):
    """Apart from the fields."""
    diff(other("gpu-node[1-4]", "gpu-node[2-6]"), cluster=LAB, json=True)
    document = json.loads(capsys.readouterr().out)

    assert (document["new_hosts"], document["gone_hosts"]) == ("gpu-node[5-6]", "gpu-node1")
    assert (document["cost"], document["changes"][0]["path"]) == ("drain", "nodes.a100.hosts")


def test_a_file_that_is_wrong_is_named(other, capsys):
    """There are two, so which one it is has to be said."""
    with pytest.raises(SpecError, match="unknown-key"):
        diff(other("node_timeout: 15s", "node_time: 20s"), cluster=LAB)

    assert "new.yaml is not a valid cluster file" in capsys.readouterr().err


def test_a_difference_says_who_what_why_and_shows_itself():
    """New files of one folder are counted, everything else is a line of its own."""
    edited = DriftRow(
        "a[1-2]", "file:/etc/x", "edited", "by hand", "rewrite", Cost.RESTART, "--- a\n+++ b\n-1\n+2"
    )
    new = [DriftRow("a3", f"file:/opt/{name}", "new", "never", "create", Cost.LIVE, "+x") for name in "abcde"]

    assert drift_lines([edited, *new]) == [
        "a[1-2]: file:/etc/x: by hand; rewrite  [restart]",
        "    -1",
        "    +2",
        "a3: file:/opt: 5 files: never",
    ]
