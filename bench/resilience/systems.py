"""The systems that are compared, and how each starts two ranks on this machine."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.resilience import rivals

TRAININGS = Path(__file__).parent / "trainings"
LAUNCHED = (
    "--standalone",
    "--nproc-per-node=2",
    "--max-restarts=1000",
)  # the default has no restarts


@dataclass(frozen=True)
class Start:
    """A command and its additional environment."""

    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    """A system; `starts` returns its commands for a folder, in order."""

    name: str
    flags: str
    starts: Callable[[Path], list[Start]]
    rival: str | None = None  # its environment, see rivals.py

    @property
    def missing(self) -> str | None:
        """Return why it cannot run on this machine, None if it can."""
        if self.rival and not rivals.python(self.rival):
            return "not installed; run bench/resilience/rivals.py"
        return None

    @property
    def label(self) -> str:
        """The name for --systems."""
        return self.name if self.flags == "best" else f"{self.name} ({self.flags})"

    def versions(self) -> dict[str, str]:
        """Return the versions of the system's software."""
        return rivals.versions(self.rival) if self.rival else {}


def _torchrun(_: Path) -> list[Start]:
    return [Start([sys.executable, "-m", "torch.distributed.run", *LAUNCHED, str(TRAININGS / "plain.py")])]


def _torchrun_own_store(folder: Path) -> list[Start]:
    return [Start(each.argv, {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}) for each in _torchrun(folder)]


def _ft_launcher(_: Path) -> list[Start]:
    launcher = str(rivals.program("nvrx", "ft_launcher"))
    return [Start([launcher, *LAUNCHED, "--ignore-missing-fault-tol-cfg", str(TRAININGS / "plain.py")])]


def _ft_launcher_best(_: Path) -> list[Start]:
    launcher = str(rivals.program("nvrx", "ft_launcher"))
    flags = (
        "--monitor-interval=0.05", "--ft-workload-check-interval=0.5", "--ft-initial-rank-heartbeat-timeout=60",
        "--ft-rank-heartbeat-timeout=10", "--ft-enable-nic-monitor=False", "--workers-stop-timeout=1",
    )  # fmt: skip
    env = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    return [Start([launcher, *LAUNCHED, *flags, str(TRAININGS / "heartbeat.py")], env)]


def _torchft(_: Path) -> list[Start]:
    lighthouse = str(rivals.program("torchft", "torchft_lighthouse"))
    port = _free_port()
    light = [
        "--min_replicas=1",
        "--quorum_tick_ms=100",
        "--join_timeout_ms=10000",
        f"--bind=127.0.0.1:{port}",
    ]
    starts = [Start([lighthouse, *light])]
    for replica in range(2):
        argv = [
            str(rivals.python("torchft")),
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node=1",
        ]
        env = {
            "TORCHFT_LIGHTHOUSE": f"http://127.0.0.1:{port}", "REPLICA_GROUP_ID": str(replica),
            "NUM_REPLICA_GROUPS": "2", "TORCHFT_MANAGER_HOSTNAME": "127.0.0.1",
        }  # fmt: skip
        starts.append(Start([*argv, "--max-restarts=1000", str(TRAININGS / "replicas.py")], env))
    return starts


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def ours(
    script: str, *, standby: bool = True, every: str = "5 steps", **more: object
) -> Callable[[Path], list[Start]]:
    """Return the start of our launcher with one of the trainings; `more` are further keys of the job file."""

    def starts(folder: Path) -> list[Start]:
        job = {
            "name": "bench", "command": [str(TRAININGS / script)], "gpus_per_node": 2, "time": "2h",
            "recovery": {"restarts": 1000}, "checkpoint": {"every": every}, "warm": {"standby": standby}, **more,
        }  # fmt: skip
        path = folder / "job.yaml"
        path.write_text(json.dumps(job))  # JSON is YAML
        wright = str(Path(sys.executable).with_name("wright"))
        return [Start([wright, "train", str(path), "--local", "--out", str(folder / "runs")])]

    return starts


EVERY = (
    System("ours", "best", ours("ours.py")),
    System("ours, each step", "best", ours("ours.py", checkpoint={"every": "5 steps", "memory": "1 step"})),
    System("ours, plain script", "best", ours("plain.py")),
    System("ours cold", "best", ours("ours.py", standby=False)),
    System("torchrun, own store", "best", _torchrun_own_store),
    System("torchrun", "default", _torchrun),
    System("ft_launcher", "best", _ft_launcher_best, "nvrx"),
    System("ft_launcher", "default", _ft_launcher, "nvrx"),
    System("torchft", "best", _torchft, "torchft"),
)


def chosen(names: str | None) -> list[System]:
    """Return the systems with these labels; all if none are named."""
    wanted = [name.strip() for name in names.split("|")] if names else [each.label for each in EVERY]
    unknown = set(wanted) - {each.label for each in EVERY}
    if unknown:
        sys.exit(
            f"unknown systems: {', '.join(unknown)}; available: {' | '.join(each.label for each in EVERY)}"
        )
    return [each for each in EVERY if each.label in wanted]


def environment(folder: Path, start: Start) -> dict[str, str]:
    """Return the environment of a training: this repository's modules, one thread per rank, loopback interface."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    quiet = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONUNBUFFERED": "1"}
    return {**own, **quiet, "BENCH_FOLDER": str(folder), **start.env}
