"""A small lab, and `wright dev` as a user types it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clusterwright.edge.ssh import Ssh

WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])  # each has a lab of its own
NAME, NET = f"dev-test{WORKER}", f"10.{240 + WORKER}"
WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()")


@dataclass
class Dev:
    """The command on a lab, as bob."""

    file: Path
    remote: Ssh
    tunnels: list = field(default_factory=list)
    name: str = NAME

    def begin(self, *options, user="bob"):
        """The command under way."""
        argv = [*WRIGHT, "dev", "--cluster", str(self.file), "--as", user, *map(str, options)]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def plain(self, *words):
        """A command of `wright dev`, to its end."""
        argv = [*WRIGHT, "dev", *map(str, words), "--cluster", str(self.file)]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    def up(self, *options, user="bob"):
        """A session that is up, as one JSON document."""
        process = self.begin("--json", *options, user=user)
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        return json.loads(out)

    def leave_waiting(self, *options):
        """It is in the queue, and nobody waits for it."""
        process = self.begin("--wait", "0s", *options)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err

    def refused(self, *options, user="bob"):
        """What it says where it cannot be."""
        process = self.begin(*options, user=user)
        _, err = process.communicate(timeout=200)
        assert process.returncode not in (0, None), err
        return err

    def tunnel(self, up):
        """The printed command is left open, and leads there."""
        self.tunnels.append(subprocess.Popen(up["tunnel"], stdin=subprocess.DEVNULL))
        port = int(up["url"].split(":")[2].split("/")[0])
        end = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return f"http://127.0.0.1:{port}"
            assert time.monotonic() < end, up["tunnel"]
            time.sleep(0.1)

    def sh(self, host, command):
        """What it printed there, as root."""
        done = self.remote.run(host, command)
        assert done.ok, f"{host}: {command}: {done.code}: {done.last_lines(20)}"
        return done.out

    def until(self, command, wanted, limit_s=60, host="control"):
        """Until it prints that."""
        end = time.monotonic() + limit_s
        while (out := self.sh(host, command).strip()) != wanted:
            assert time.monotonic() < end, f"{command}: {out}, not {wanted}"
            time.sleep(0.3)

    def rest(self):
        """No job is left, and no tunnel."""
        for each in self.tunnels:
            each.send_signal(signal.SIGTERM)
            each.wait(20)
        self.tunnels.clear()
        jobs = self.sh("control", "squeue -h -o %A").split()
        self.sh(
            "control", f"timeout 30 scancel {' '.join(jobs)}; true"
        )  # by id: a late one hits no later job
        self.until("squeue -h", "")


@pytest.fixture(scope="session")
def dev_lab(tmp_path_factory, example_lab):
    """A control host and two compute hosts."""
    small = {"gpu-node[1-4]": "gpu-node[1-2]"}
    with example_lab(tmp_path_factory.mktemp("dev"), NAME, NET, small) as stands:
        yield Dev(stands.file, stands.remote)


@pytest.fixture
def dev(dev_lab, monkeypatch, tmp_path):
    """The lab at rest, before and after; keys of sessions are made in a folder of the test."""
    dev_lab.rest()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield dev_lab
    dev_lab.rest()
