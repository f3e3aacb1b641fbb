"""Faults for trainings on hosts, and the events that end each part of the recovery."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from bench.resilience.hosts_jobs import Training
from bench.resilience.hosts_lab import USER

LOST = {"detect": ("failover", "host_lost"), "restart": ("generation_start",)}
LEFT = {"save": ("stopped", "host_lost"), "successor": ("job_start",), "agents": ("generation_start",)}


class Case(NamedTuple):
    """One kind of trial; `inject` injects the fault and returns its time."""

    shape: str
    what: str
    inject: Callable[[Training], float]
    arrange: Callable[[Training], None] = lambda _: None

    @property
    def name(self) -> str:
        """The name in the lines; all cases of `handoff` have the same shape."""
        return self.what if self.experiment == "handoff" else f"{self.shape}, {self.what}"

    @property
    def experiment(self) -> str:
        """The name of the experiment that the case belongs to."""
        return "handoff" if self.shape == "handoff" else "hosts"

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The parts of the recovery, each with the events of which the first ends it."""
        return LEFT if self.experiment == "handoff" else LOST


def _first(training: Training) -> str:
    """Return the host of the batch step, with our supervisor, rank 0 and torchrun's store."""
    return training.place.hosts_of(training.job())[0]


def _other(training: Training) -> str:
    """Return a host that trains, other than that of the batch step."""
    first = _first(training)
    return str(next(each["host"] for each in training.of("step") if each["host"] != first))


def _fault(kind: str, victim: Callable[[Training], str]) -> Callable[[Training], float]:
    def inject(training: Training) -> float:
        return training.place.inject(kind, victim(training))

    return inject


def _warn(training: Training) -> float:
    """Send Slurm's signal for an approaching time limit, through Slurm; return the time."""
    job, at = training.job(), time.time()
    training.place.control(f"scancel --batch --signal=USR1 {job}")
    return at


def _push(training: Training) -> float:
    """Submit a job of a higher QOS for the same hosts; return the time."""
    hosts = training.place.hosts_of(training.job())
    at = time.time()
    training.place.control(
        f"cd /tmp && sbatch --qos=urgent --nodes={len(hosts)} --nodelist={','.join(hosts)} --exclusive --time=5"
        " --output=/dev/null --wrap='srun sleep 240'",
        user=USER,
    )
    return at


def _full(free: int) -> Callable[[Training], None]:
    """Return a preparation that drains all free hosts but `free` of them, so that a successor job has few."""

    def drain(training: Training) -> None:
        mine = training.place.hosts_of(training.job())
        others = [each.name for each in training.place.cluster.hosts("compute") if each.name not in mine]
        training.place.control(f"scontrol update nodename={','.join(others[free:])} state=drain reason=full")

    return drain


FAULTS = (
    ("host killed", _fault("kill-host", _other)), ("host cut off", _fault("link-down", _other)),
    ("first host killed", _fault("kill-host", _first)), ("first host cut off", _fault("link-down", _first)),
)  # fmt: skip
CASES = (
    *(Case(shape, what, inject) for shape in ("spare", "fewer") for what, inject in FAULTS),
    Case("handoff", "time limit, other hosts", _warn),
    Case("handoff", "time limit, same hosts", _warn, _full(0)),
    Case("handoff", "preemption", _push),
    Case("handoff", "host killed", _fault("kill-host", _other)),
    Case("handoff", "first host killed", _fault("kill-host", _first)),
    Case("handoff", "first host killed, same hosts", _fault("kill-host", _first), _full(1)),
)
