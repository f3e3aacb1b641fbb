"""Shared SSH connections of a lab and of users: one whose master is lost is replaced within the same command."""

import contextlib
import os
import signal
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.edge.processes import run
from clusterwright.edge.ssh import Ssh
from clusterwright.lab import masters

pytestmark = [pytest.mark.lab, pytest.mark.core]
NAME, NET = "wright-masters", 157
HOST, OTHER = "gpu-node1", "gpu-node2"


@pytest.fixture(scope="module")
def standing(tmp_path_factory, text_of_small_lab):
    """The small lab, up."""
    path = tmp_path_factory.mktemp("masters") / "cluster.yaml"
    path.write_text(text_of_small_lab.format(name=NAME, net=NET))
    try:
        yield lab.up(load_cluster(path))
    finally:
        assert lab.down(NAME) == []


@pytest.fixture
def user_config(standing):
    """The lab's configuration as a user may have it: a shared connection that ssh does not watch."""
    with TemporaryDirectory(dir="/tmp") as folder:  # short: the path of a socket has 108 characters at most
        path = Path(folder, "config")
        text = standing.ssh_config.read_text().replace(str(masters.folder(NAME)), folder)
        lines = [line for line in text.splitlines() if "ServerAlive" not in line]
        path.write_text("\n".join(lines) + "\n")
        yield path
        for host in (HOST, OTHER):
            run(("ssh", "-F", str(path), "-O", "exit", host))


@contextlib.contextmanager
def removing(path):
    """Remove the socket again and again, as the end of an earlier master on the same path does."""
    ended = threading.Event()

    def remove():
        while not ended.wait(0.0003):
            path.unlink(missing_ok=True)

    thread = threading.Thread(target=remove)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def processes_of(socket):
    """Process ids of the masters of a socket, old and new ones."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().startswith(f"ssh: {socket} [mux]".encode()):
                found.append(int(path.parent.name))
    return found


def test_a_lost_socket_of_a_new_master_fails_no_command(standing, user_config):
    """Without the repetition about half of them fail with `Failed to connect to new control master`."""
    ssh = Ssh(config=user_config)
    with removing(user_config.parent / f"{standing.layout.host(OTHER).address}-22-root"):
        results = [ssh.run(OTHER, "echo here", timeout_s=30) for _ in range(12)]

    assert [(result.code, result.out, result.err) for result in results if result.out != "here\n"] == []


def test_a_dead_master_is_replaced_within_the_command(standing, user_config):
    """Its socket is left: nothing listens there."""
    ssh = Ssh(config=user_config)
    socket = user_config.parent / f"{standing.layout.host(OTHER).address}-22-root"
    assert ssh.run(OTHER, "true").ok
    [master] = processes_of(socket)
    os.kill(master, signal.SIGKILL)

    assert ssh.run(OTHER, "echo here").out == "here\n"
    assert processes_of(socket) != [master]


def test_a_host_back_from_a_power_cut_is_reached_without_a_step_by_hand(standing, user_config):
    """A connection from before the cut does not notice it, and sends again ever more rarely; it is not used again."""
    ssh = Ssh(config=user_config)
    socket = user_config.parent / f"{standing.layout.host(HOST).address}-22-root"
    assert ssh.run(HOST, "true").ok
    assert socket.exists()
    lab.fault(NAME, "kill-host", HOST)
    during = ssh.run(HOST, "true", timeout_s=3).code
    is_left = socket.exists()
    lab.undo(NAME, HOST)

    assert (during, is_left) == (124, False)
    assert ssh.run(HOST, "echo here").out == "here\n"


def test_a_slow_command_ends_no_shared_connection(standing, user_config):
    """The connection lives, although the command overruns."""
    ssh = Ssh(config=user_config)
    socket = user_config.parent / f"{standing.layout.host(OTHER).address}-22-root"
    assert ssh.run(OTHER, "true").ok
    before = processes_of(socket)
    assert ssh.run(OTHER, "sleep 20", timeout_s=1).code == 124

    assert ssh.run(OTHER, "true").ok
    assert processes_of(socket) == before != []


def test_a_closed_master_is_gone_before_the_next(standing):
    """One that a busy machine does not let answer is ended too: its end would remove the socket of the next one."""
    address = standing.layout.host(HOST).address
    socket = masters.folder(NAME) / f"{address}-22-root"
    assert Ssh(config=standing.ssh_config).run(HOST, "true").ok
    [master] = processes_of(socket)
    os.kill(master, signal.SIGSTOP)
    masters.close(NAME, address)

    assert processes_of(socket) == []
    assert not socket.exists()
