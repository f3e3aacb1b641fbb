"""The systems that are compared on hosts, and how each is submitted to Slurm, in one of three shapes.

`spare`: two hosts train and a third is on standby. `fewer`: two train, and one may continue alone. `handoff`: two
train, and a new job, or the same one requeued, continues.
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
import site
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.resilience import rivals
from bench.resilience.hosts_jobs import Training
from bench.resilience.hosts_lab import USER, Place
from clusterwright.config.job import Job
from clusterwright.launch.run import RunFolder
from clusterwright.launch.submission import submit


@dataclass(frozen=True)
class System:
    """A system; `submit` returns a training's name in Slurm, and our run's folder on this machine."""

    name: str
    flags: str
    submit: Callable[[Training], tuple[str, RunFolder | None]]
    warm: bool = False
    rival: str | None = None
    limit_s: float = 60.0  # after a fault; a longer recovery counts as `hung`

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


SHAPES: dict[str, dict[str, Any]] = {
    "spare": {"recovery": {"on_host_loss": "spare", "spare_nodes": 1}},
    "fewer": {"recovery": {"on_host_loss": "shrink"}, "elastic": {"min_nodes": 1}},
    "handoff": {"recovery": {"on_host_loss": "successor"}},
}


def _ours(training: Training) -> tuple[str, RunFolder]:
    place = training.place
    job = {
        "name": "bench", "command": [f"{place.bench}/trainings/ours.py"], "nodes": 2, "time": "10m", "user": USER,
        "checkpoint": {"every": "5 steps"}, **SHAPES[training.shape],
        "environment": {"variables": {"BENCH_FOLDER": training.bench, "OMP_NUM_THREADS": "1"}},
    }  # fmt: skip
    run = submit(Job.model_validate(job, strict=False), place.cluster, place.remote)
    return run.name, dataclasses.replace(run, folder=str(place.here(run.folder)))


@dataclass(frozen=True)
class Launcher:
    """torchrun or a substitute: how srun starts one on each host."""

    program: str
    script: str
    srun: str = ""
    sbatch: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Place], Mapping[str, str]] = lambda _: {}

    def submit(self, training: Training) -> tuple[str, None]:
        """Submit an sbatch script as an experienced user writes it."""
        name = Path(training.bench).name
        path = training.folder / "job.sh"
        path.write_text(self._text(training, name))
        training.place.control(f"cd {training.bench} && sbatch --parsable job.sh", user=USER)
        return name, None

    def _text(self, training: Training, name: str) -> str:
        place = training.place
        spare = training.shape == "spare" and bool(self.flags)  # defaults have no standby host
        few = "1:2" if training.shape == "fewer" else "2"
        env = {
            "BENCH_FOLDER": training.bench, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "compute",
            "PYTHONUNBUFFERED": "1", **self.env, **self.prepare(place),
        }  # fmt: skip
        meet = ("--rdzv-backend=c10d", "--rdzv-id=$SLURM_JOB_ID", "--rdzv-endpoint=$first:29511")
        flags = " ".join((f"--nnodes={few}", "--nproc-per-node=1", "--max-restarts=1000", *meet, *self.flags))
        python = place.cluster.software.python
        return "\n".join([
            "#!/bin/bash",
            f"#SBATCH --job-name={name} --nodes={3 if spare else 2} --ntasks-per-node=1 --gres=gpu:1 --time=10",
            f"#SBATCH --output={training.bench}/out --open-mode=append",
            *(f"#SBATCH {each}" for each in self.sbatch),
            *(f"export {key}={value}" for key, value in env.items()),
            "first=$(scontrol show hostnames | head -n 1)",
            "trap 'scontrol requeue $SLURM_JOB_ID' USR1",
            f"srun {self.srun} {python} -m {self.program} {flags} {place.bench}/trainings/{self.script} &",
            "wait; wait",  # the trap interrupts the first one
            "",
        ])  # fmt: skip


@functools.cache
def _nvrx(place: Place) -> Mapping[str, str]:
    """Copy what ft_launcher needs besides torch to the shared folder; return its environment."""
    python = rivals.python("nvrx")
    assert python, "call `missing` first"
    own, target = Path(site.getsitepackages()[0]), place.here(f"{place.bench}/nvrx")
    target.mkdir(exist_ok=True)
    for each in next(python.parents[1].glob("lib/python3*/site-packages")).iterdir():
        if (own / each.name).exists() or (target / each.name).exists():
            continue
        shutil.copytree(each, target / each.name) if each.is_dir() else shutil.copy(each, target)
    return {"PYTHONPATH": f"{place.bench}/nvrx"}


# Heartbeat timeout of 3 s, as our default; torchrun's default is 15 s, and it waits 30 s more for further hosts.
QUICK = (
    "--monitor-interval=0.05",
    "--rdzv-conf=keep_alive_interval=1,keep_alive_max_attempt=3,last_call_timeout=1,join_timeout=120",
)
NO_KILL = "--no-kill --kill-on-bad-exit=0 --wait=0"
OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "BENCH_TIMEOUT_S": "5"}
TORCHRUN, FT = "torch.distributed.run", "nvidia_resiliency_ext.fault_tolerance.launcher"
FT_QUICK = (
    "--ft-workload-check-interval=0.5", "--ft-initial-rank-heartbeat-timeout=60", "--ft-rank-heartbeat-timeout=5",
    "--ft-enable-nic-monitor=False", "--workers-stop-timeout=1",
)  # fmt: skip
TORCHRUN_BEST = Launcher(TORCHRUN, "plain.py", NO_KILL, ("--no-kill",), QUICK, OWN_STORE)
FT_BEST = Launcher(FT, "heartbeat.py", NO_KILL, ("--no-kill",), (*QUICK, *FT_QUICK), OWN_STORE, _nvrx)
EVERY = (
    System("ours", "best", _ours, warm=True, limit_s=120),
    System("torchrun, own store", "best", TORCHRUN_BEST.submit),
    System("ft_launcher", "best", FT_BEST.submit, rival="nvrx"),
    System(
        "torchrun",
        "default",
        Launcher(TORCHRUN, "plain.py", sbatch=("--requeue", "--signal=B:USR1@60")).submit,
        limit_s=240,
    ),
)
