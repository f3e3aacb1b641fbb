"""`wright add-hosts` and `wright remove-hosts` as a user meets them."""

import json
import sys
from pathlib import Path

import pytest

from clusterwright.cli import _members, commands
from clusterwright.cli.add_hosts import add_hosts
from clusterwright.cli.remove_hosts import remove_hosts
from clusterwright.edge.fakes import FakeRemote
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.report import ChangeReport, HostReport
from clusterwright.provision.shrink import remember

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


def answer(_host, _command, stdin):
    """Agents that find nothing to do, and a Slurm that says nothing."""
    facts = {"interrupted": False, "job_steps": 0, "reached_at": ""}
    empty = {"facts": facts, "changes": [], "notes": [], "error": "", "stale": False, "sum": ""}
    return f"{ANSWER}{json.dumps(empty)}\n" if stdin else ""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The lab's file, whose hosts are answers."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # A command finds the way to the hosts by the file alone: there is no argument to pass another by.
    monkeypatch.setattr(_members, "remote_of", lambda _cluster: FakeRemote(answer))
    path = tmp_path / "cluster.yaml"
    path.write_text(LAB.read_text())
    return path


def test_both_are_commands_with_a_hyphen():
    """Their modules have an underscore, which nobody types."""
    assert {"add-hosts", "remove-hosts"} <= {name for name, _ in commands()}


def test_a_dry_run_shows_the_files_lines_and_writes_nothing(file, capsys):
    """Old line, new line, and what that means for running jobs."""
    assert add_hosts("a100", "gpu-node[5-6]", cluster=file, dry_run=True) == 0
    shown = capsys.readouterr().out

    assert "-    hosts: gpu-node[1-4]\n+    hosts: gpu-node[1-6]\n" in shown
    assert "nodes.a100.hosts: gpu-node[1-4] -> gpu-node[1-6]  [restart]" in shown
    assert file.read_text() == LAB.read_text()


def test_the_same_as_one_document(file, capsys):
    """For programs: the lines, the fields, the hosts."""
    remove_hosts("gpu-node4", cluster=file, dry_run=True, json=True)
    document = json.loads(capsys.readouterr().out)

    assert [field["path"] for field in document["fields"]] == ["nodes.a100.hosts"]
    assert document["drift"]["in_sync"] == "control,gpu-node[1-3]"


def test_without_a_terminal_nothing_is_agreed_to(file, monkeypatch, tmp_path):
    """The flag to pass is named."""
    with (tmp_path / "in").open("w+") as no_terminal:
        monkeypatch.setattr(sys, "stdin", no_terminal)  # the process's own stdin is the seam
        with pytest.raises(WrightError, match="pass --yes"):
            remove_hosts("gpu-node4", cluster=file)

    assert file.read_text() == LAB.read_text()


@pytest.mark.parametrize("hosts", ["gpu-node[1-", "n[1-999999999]", "$(reboot)"])
def test_what_is_no_hostlist_is_refused(file, hosts):
    """Before it is expanded, and before any shell could see it."""
    with pytest.raises(WrightError, match="bad-hostlist") as error:
        add_hosts("a100", hosts, cluster=file, yes=True)

    assert error.value.exit_code == 2


def test_hosts_that_left_are_no_error(file, capsys):
    """Run again after the end, it says so; a name that was never there is an error."""
    assert remove_hosts("gpu-node2", cluster=file, yes=True) == 0
    assert "    absent: gpu-node2\n" in file.read_text()
    assert remove_hosts("gpu-node2", cluster=file, yes=True) == 0
    assert "nothing to do" in capsys.readouterr().err
    with pytest.raises(WrightError, match="no-such-host"):
        remove_hosts("gpu-node9", cluster=file, yes=True)


def test_a_leave_that_was_begun_goes_on_from_the_command_line(file, capsys):
    """The file has no such host any more, but the journal has."""
    file.write_text(LAB.read_text().replace("gpu-node[1-4]", "gpu-node[1-3]"))
    remember("lab", ("gpu-node4",))

    assert remove_hosts("gpu-node4", cluster=file, yes=True) == 0
    assert "gpu-node4: removed" in capsys.readouterr().err


def test_hosts_that_were_left_for_later_are_named(capsys):
    """An apply leaves out hosts where a change wants no jobs; that is not silent."""
    left = HostReport("gpu-node1", left_out="jobs run there")
    _members.failures(ChangeReport((left, HostReport("gpu-node2", error="disk full")), dry=False), None)

    assert capsys.readouterr().err == "gpu-node1: jobs run there\ngpu-node2: disk full\n"
