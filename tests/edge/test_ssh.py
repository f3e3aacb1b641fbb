"""What ssh itself prints about host keys, of a real sshd on the loopback address."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from clusterwright.edge.processes import CommandResult
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import SSH_FAILED, Ssh, ssh_problem
from clusterwright.errors import WrightError

LOST = "Failed to connect to new control master"
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin")


@pytest.fixture
def ssh(tmp_path):
    """A connection to `gpu1`, an sshd of this test that nobody can log in to."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    new_key(tmp_path)
    Path("/run/sshd").mkdir(exist_ok=True)
    argv = [
        SSHD,
        "-D",
        "-e",
        "-f",
        "/dev/null",
        "-h",
        tmp_path / "key",
        "-o",
        f"ListenAddress=127.0.0.1:{port}",
    ]
    with subprocess.Popen([*argv, "-o", f"PidFile={tmp_path}/pid"], stderr=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + 10
        while not listens(port) and time.monotonic() < deadline:
            time.sleep(0.05)
        (tmp_path / "config").write_text(
            f"Host gpu1\n HostName 127.0.0.1\n UserKnownHostsFile {tmp_path}/known\n GlobalKnownHostsFile /dev/null\n"
        )
        yield Ssh(port=port, config=tmp_path / "config")
        server.terminate()


def listens(port):
    """True if a server accepts connections on the port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def new_key(folder):
    """A host key for sshd; return the public part."""
    (folder / "key").unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    return (folder / "key.pub").read_text()


def know(folder, port, key):
    """Write the host's key into the file of known keys, after another line."""
    (folder / "known").write_text(f"other {key}[127.0.0.1]:{port} {key}")


@pytest.mark.skipif(not SSHD, reason="no sshd (apt install openssh-server)")
def test_a_changed_host_key_has_an_error_of_its_own(ssh, tmp_path):
    """It names the file and the line, and the command removes the old key; then the key is unknown."""
    other = tmp_path / "other"
    other.mkdir()
    know(tmp_path, ssh.port, new_key(other))
    result = ssh.run("gpu1", "true", timeout_s=20)
    problem = ssh_problem(result, "gpu1")

    assert (result.code, problem.code) == (SSH_FAILED, "host-key-changed")
    assert problem.message == f"the SSH host key of gpu1 differs from the one in {tmp_path}/known, line 2"
    assert "StrictHostKeyChecking" not in str(problem)
    with pytest.raises(WrightError, match="host-key-changed"):
        checked(result, "gpu1", "squeue")
    command = problem.fix.split("`")[3]
    assert command == f"ssh-keygen -f {tmp_path}/known -R '[127.0.0.1]:{ssh.port}'"
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert ssh_problem(ssh.run("gpu1", "true", timeout_s=20), "gpu1").code == "host-key-unknown"


@pytest.mark.skipif(not SSHD, reason="no sshd (apt install openssh-server)")
def test_a_refused_login_is_no_matter_of_host_keys(ssh, tmp_path):
    """The message is the line that ssh prints."""
    know(tmp_path, ssh.port, (tmp_path / "key.pub").read_text())
    result = ssh.run("gpu1", "true", timeout_s=20)
    with pytest.raises(WrightError, match="Permission denied") as failed:
        checked(result, "gpu1", "squeue")

    assert failed.value.findings[0].code == "unreachable"
    assert ssh_problem(result, "gpu1") is None


def test_what_a_host_prints_adds_nothing_to_a_command():
    """Its banner reaches stderr too."""
    banner = "Offending ED25519 key in /x;reboot:1\n"
    banner += "Host key for $(reboot) has changed and you have requested strict checking.\n"
    result = CommandResult((), SSH_FAILED, "", banner + "Connection closed", 0.1)
    with pytest.raises(WrightError, match="Connection closed") as failed:
        checked(result, "gpu1", "squeue")

    assert failed.value.findings[0].code == "unreachable"
    assert ssh_problem(result, "gpu1") is None


def test_a_port_and_an_address_are_named_as_ssh_keygen_wants_them():
    """Output of OpenSSH 9.2 and, without the hint of Debian, 8.0."""
    printed = (
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
        "Add correct host key in /home/ann/.ssh/known_hosts to get rid of this message.\n"
        "Offending ECDSA key in /home/ann/.ssh/known_hosts:12\n"
        "Host key for [2001:db8::7]:2222 has changed and you have requested strict checking.\n"
        "Host key verification failed."
    )
    problem = ssh_problem(CommandResult((), SSH_FAILED, "", printed, 0.1), "gpu7")

    assert problem.code == "host-key-changed"
    assert "`ssh-keygen -f /home/ann/.ssh/known_hosts -R '[2001:db8::7]:2222'`" in problem.fix


@pytest.mark.parametrize(
    ("first_lines", "calls", "out"),
    [
        (LOST, 2, "here"),
        (f"mux_client_request_session: read from master failed: Broken pipe\n{LOST}", 1, ""),
        ("Connection refused", 1, ""),
    ],
)
def test_a_command_that_has_not_started_runs_again_without_the_lost_connection(
    first_lines, calls, out, tmp_path, monkeypatch
):
    """After a request for a session it may have started: then it does not run again."""
    program = tmp_path / "ssh"
    program.write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\n'
        f"case \"$*\" in *ControlPath=none*) echo here; exit;; esac\necho '{first_lines}' >&2\nexit 255\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    result = Ssh().run("gpu1", "sbatch job.sh", timeout_s=20)

    assert result.out.strip() == out
    assert len((tmp_path / "calls").read_text().splitlines()) == calls
