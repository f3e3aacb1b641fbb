"""Starting ranks, and reading what they left."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def clean_environ(**more):
    """Our own environment without what a launcher may have said, one thread for each rank."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLUSTERWRIGHT_", "SLURM_", "TOY_"))}
    return {**kept, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", **more}


class Trained:
    """A run's folder after some ranks have worked on it."""

    def __init__(self, folder, codes, log):
        self.folder, self.codes, self.log = folder, codes, log

    def events(self, kind=None, rank=0):
        """The events of one rank, all of them JSON."""
        lines = (self.folder / "events" / f"rank-{rank:05d}.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        return [event for event in events if kind in (None, event["event"])]

    def losses(self):
        """The exact loss of each step; a step done again must have had the same."""
        losses = {}
        for event in self.events("step"):
            assert losses.setdefault(event["step"], event["loss_hex"]) == event["loss_hex"]
        return losses

    def seen(self):
        """The samples of each step, over all ranks."""
        samples = {}
        for path in self.folder.glob("seen-*"):
            for line in path.read_text().splitlines():
                step, *numbers = map(int, line.split())
                samples.setdefault((step, path.name), numbers)
        steps = sorted({step for step, _ in samples})
        return {
            step: sorted(n for (s, _), numbers in samples.items() if s == step for n in numbers)
            for step in steps
        }

    def weights(self):
        """The sums of the final weights, one of each rank."""
        return {path.read_text() for path in self.folder.glob("weights-*")}

    def checkpoints(self):
        """The names in the folder of checkpoints, but for the one that leads to the newest."""
        found = (self.folder / "checkpoints").iterdir()
        return sorted(path.name for path in found if path.name != "latest")


@pytest.fixture(scope="session")
def nursery():
    """A process that forks ranks on demand."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "nursery.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environ(),
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()
        process.wait(150)


@pytest.fixture
def train(nursery, tmp_path):
    """`train(ranks=2, name="run", script="toy", **environment)` runs it in `tmp_path/name` and says how it went."""

    def run(*, ranks=2, name="run", own=None, script="toy", seconds=150, **environment):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        log = folder / "log"
        common = {
            "CLUSTERWRIGHT_RUN": str(folder), "CLUSTERWRIGHT_CHECKPOINT_EVERY": "steps:4",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(ranks),
            **{key: str(value) for key, value in environment.items()},
        }  # fmt: skip
        environ = [
            {**common, "RANK": str(rank), "LOCAL_RANK": str(rank), **(own[rank] if own else {})}
            for rank in range(ranks)
        ]
        order = {
            "script": str(HERE / f"{script}.py"),
            "environ": environ,
            "log": str(log),
            "seconds": seconds,
        }
        nursery.stdin.write(json.dumps(order) + "\n")
        nursery.stdin.flush()
        codes = json.loads(nursery.stdout.readline())
        return Trained(folder, codes, log.read_text() if log.exists() else "")

    return run


@pytest.fixture
def small_disk(tmp_path):
    """`small_disk(4)` is a folder on a disk of 4 MiB, and again one of another size; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def of(mebibytes):
        options = ["remount"] if folder.is_mount() else []
        command = [
            "mount",
            "-t",
            "tmpfs",
            "-o",
            ",".join([*options, f"size={mebibytes}m"]),
            "tmpfs",
            str(folder),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no small disk: {done.stderr.strip()}")
        return folder

    yield of
    if folder.is_mount():
        subprocess.run(["umount", folder], check=True)
