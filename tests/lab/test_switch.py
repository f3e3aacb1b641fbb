"""The process behind a lab's switch: it answers for its lab, and ends with it."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab import state
from clusterwright.lab.layout import layout
from clusterwright.lab.state import Fault, LabState

NAME = f"wright-switch-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"  # its tests run side by side
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="a lab's journal is root's")


@pytest.fixture
def journal(cluster_file):
    """A lab of which nothing but its journal exists; gone afterwards."""
    lab.down(NAME)
    made = state.write(LabState(layout(load_cluster(cluster_file(NAME, 229))), "making", "boot", "digest"))
    yield made
    lab.down(NAME)


def listens(path):
    """Whether somebody takes connections there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        return line.connect_ex(str(path)) == 0


@pytest.fixture
def ask(journal, tmp_path):
    """Asks the process, which is started for it; `ask.process` is that."""
    path = tmp_path / "socket"
    process = subprocess.Popen((sys.executable, "-m", "clusterwright.lab.switch", NAME, str(path)))

    def asked(verb, *hosts):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(20)
            line.connect(str(path))
            line.sendall(json.dumps({"verb": verb, "hosts": hosts}).encode() + b"\n")
            with line.makefile("rb") as answer:
                return json.loads(answer.readline())

    asked.process = process
    end = time.monotonic() + 30
    while not listens(path):  # a path is there a moment before
        assert time.monotonic() < end
        time.sleep(0.05)
    yield asked
    process.kill()
    process.wait()


def test_it_tells_who_has_power_and_refuses_whom_it_does_not_know(ask):
    """Words for each host."""
    said = ask("state", "gpu-node1", "gpu-node9")

    assert said["gpu-node1"] == "off"
    assert "has no host `gpu-node9`" in said["gpu-node9"]


def test_a_host_whose_power_is_cut_cannot_be_switched_on_and_a_lie_is_a_yes(ask, journal):
    """Faults go before what is asked."""
    cut, lie = Fault("kill-host", "gpu-node1"), Fault("inconsistent-power-state", "gpu-node2")
    state.write(journal.with_fault(cut).with_fault(lie))
    said = ask("on", "gpu-node1", "gpu-node2")

    assert said == {
        "gpu-node1": "cannot power on gpu-node1: the lab fault kill-host is injected",
        "gpu-node2": "",
    }
    assert state.require(NAME).processes == {}


def test_what_is_switched_off_is_noted_so_that_up_leaves_it(ask):
    """Once, whoever asks again."""
    said = ask("off", "gpu-node1"), ask("off", "gpu-node1")

    assert said == ({"gpu-node1": ""}, {"gpu-node1": ""})
    assert state.require(NAME).switched_off == {"gpu-node1"}


def test_it_ends_with_its_lab(ask, journal):
    """Nobody has to find it."""
    (journal.folder / "lab.json").unlink()

    assert ask.process.wait(timeout=30) == 0


def test_another_account_than_root_and_slurm_is_not_served(ask, tmp_path):
    """Every user of the host reaches the socket."""
    tmp_path.chmod(0o755)
    code = """
import os, socket, sys
os.setuid(int(sys.argv[1]))
line = socket.socket(socket.AF_UNIX)
line.settimeout(20)
line.connect("socket")
try:
    line.sendall(b'{"verb": "state", "hosts": ["gpu-node1"]}\\n')
    sys.stdout.write(line.recv(4096).decode())
except ConnectionError:
    pass
"""

    def served(uid):
        argv = [sys.executable, "-c", code, str(uid)]
        return subprocess.run(argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True).stdout

    assert served(65534) == ""
    assert json.loads(served(64030)) == json.loads(served(0)) == {"gpu-node1": "off"}
