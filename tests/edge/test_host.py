"""A host: as whom commands run there, and what goes with them."""

import os
import pwd
import shlex
from dataclasses import dataclass

import pytest

from clusterwright.edge.bundler import FACTS, program_command, program_input
from clusterwright.edge.fakes import FakeRemote
from clusterwright.edge.host import AsRoot, Host, needs_sudo
from clusterwright.edge.ssh import FromHost, Ssh


@dataclass
class Shell:
    """A host whose shell is this machine's; its sudo is a program of the test's."""

    sudo: bool = False

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """As a Remote."""
        return FromHost(host, Ssh()).run(host, command, stdin=stdin, timeout_s=timeout_s)


def line(remote, command):
    """What reaches the host's shell of a command of root's."""
    Host(remote, "control").run_root(command)
    (asked,) = remote.calls
    return asked


@pytest.mark.parametrize(
    ("login", "lab", "sudo"), [("root", False, False), ("ops", False, True), ("ops", True, False)]
)
def test_sudo_is_for_a_login_that_is_not_root(login, lab, sudo):
    """The ssh of a lab always logs in as root."""
    assert needs_sudo(login, lab=lab) is sudo


def test_root_and_labs_need_no_sudo():
    """The command is as it was."""
    assert line(FakeRemote(lambda *_: ""), "systemctl stop slurmd") == ("control", "systemctl stop slurmd")


def test_others_go_by_sudo_with_the_whole_line():
    """Its pipes and redirections too; where ssh came from is passed on."""
    _host, asked = line(FakeRemote(lambda *_: "", sudo=True), "a 'b' | c > /d")

    sudo = ["sudo", "-n", "env", "SSH_CONNECTION=$SSH_CONNECTION", "sh", "-c"]
    assert shlex.split(asked) == [*sudo, "a 'b' | c > /d"]


def test_a_program_runs_by_sudo_with_its_input(tmp_path, monkeypatch):
    """By a real shell, with a sudo that only notes that it was there."""
    (tmp_path / "sudo").write_text('#!/bin/sh\necho sudo >&2\nshift\nexec "$@"\n')
    (tmp_path / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    order = b'{"deadline_s": 20, "facts": []}'

    by_sudo = Host(Shell(sudo=True), "control").run_program(FACTS, stdin=order, root=True)
    as_login = Host(Shell(sudo=True), "control").run_program(FACTS, stdin=order)

    assert "@clusterwright-facts" in by_sudo.out
    assert (by_sudo.code, by_sudo.err) == (0, "sudo\n")
    assert (as_login.code, as_login.err) == (0, "")


def test_a_program_is_sent_as_the_command_of_its_loader():
    """The words after it are its arguments; all of it comes on stdin."""
    said = []
    remote = FakeRemote(lambda _host, command, stdin: said.append((command, stdin)) or "")
    Host(remote, "control").run_program(FACTS, "a b", stdin=b"more")

    assert said == [(program_command("a b"), program_input(FACTS) + b"more")]


def test_a_user_is_never_root():
    """Without a user, root is refused; a login that is somebody else cannot become the user."""
    remote = FakeRemote(lambda *_: "")
    Host(remote, "control").run_as("alice", "true")

    assert "runuser -u alice" in remote.calls[0][1]
    own = pwd.getpwuid(os.geteuid()).pw_name
    assert Host(Shell(), "control").run_as("root", "true").code == 77
    expected = 77 if own == "root" else 0
    assert Host(Shell(), "control").run_as(None, "true").code == expected


def test_a_file_is_whole_and_its_folder_there(tmp_path):
    """Also where its name has a blank."""
    path = tmp_path / "a folder" / "a file"

    assert Host(Shell(), "control").upload_file(str(path), b"data\0").ok
    assert path.read_bytes() == b"data\0"
    assert [one.name for one in path.parent.iterdir()] == ["a file"]


def test_a_connection_of_roots_runs_everything_as_root():
    """For those who take a connection."""
    remote = FakeRemote(lambda *_: "", sudo=True)
    AsRoot(remote).run("control", "id")

    assert remote.calls[0][1].startswith("sudo -n ")


def test_a_sandboxed_caller_runs_its_own_hosts_commands_in_a_transient_unit(tmp_path, monkeypatch):
    """With a systemd-run that expands variables as systemd does: the command arrives as it was."""
    program = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
exec "$2" "$3" "$(printf %s "$4" | sed 's/[$][$]/$/g')"
"""
    (tmp_path / "systemd-run").write_text(program)
    (tmp_path / "systemd-run").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    result = FromHost("control", Ssh(), is_sandboxed=True).run(
        "control", 'a=1; echo "$a $((1 + 1))"; cat', stdin=b"in"
    )

    assert (result.code, result.out) == (0, "1 2\nin")
