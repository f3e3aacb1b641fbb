"""Local runs on a machine of several users: what others reach, and the note that names them."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.edge.other_users import other_users
from clusterwright.launch.local import shared_machine

NAMESPACE = ("unshare", "-rn", "sh", "-c")
LOOPBACK = "ip link set lo up && exec "
CAN_UNSHARE = (
    shutil.which("unshare") and not subprocess.run(["unshare", "-rn", "true"], check=False).returncode
)
LISTENER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname())
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to other users")
def test_people_with_processes_are_named(tmp_path, monkeypatch):
    """Not oneself, system accounts, dynamic users, nor ids of containers without a name."""
    names = {0: "root", 105: "munge", 1001: "ann", 70_001: "bob", 62_000: "dynamic", 65_534: "nobody"}

    def getpwuid(uid):
        return pwd.struct_passwd((names[uid], "x", uid, uid, "", "/", "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwuid", getpwuid)  # accounts of this machine are no part of the test
    for number, uid in enumerate([*names, 1001, 165_536]):
        (tmp_path / str(number)).mkdir()
        os.chown(tmp_path / str(number), uid, uid)
    (tmp_path / "sys").mkdir()

    assert other_users(tmp_path) == ["ann", "bob"]
    assert other_users(tmp_path / "missing") == []


def test_a_note_names_other_users_and_the_command_without_them():
    """As docs/security.md has it; alone, there is no note."""
    (note,) = shared_machine(["a", "b", "c", "d"])
    command = f"{' '.join(NAMESPACE)} '{LOOPBACK}wright train job.yaml --local'"

    assert "a, b, c, ..." in str(note)
    assert command in str(note)
    assert command in Path("docs/security.md").read_text()
    assert shared_machine([]) == ()


@pytest.mark.skipif(not CAN_UNSHARE or not shutil.which("ip"), reason="needs namespaces of users, and ip")
def test_nobody_else_reaches_a_run_in_a_network_of_its_own():
    """Its own processes reach each other."""
    argv = [*NAMESPACE, f'{LOOPBACK}"$@"', "sh", sys.executable, "-c", LISTENER]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as inside:
        port = int(inside.stdout.readline())
        with socket.socket() as other:
            code = other.connect_ex(("127.0.0.1", port))
        inside.stdin.close()

    assert code != 0
