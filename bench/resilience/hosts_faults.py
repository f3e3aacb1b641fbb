"""What happens to a training on hosts, and which of its events end the parts of the time that follows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from bench.resilience.hosts_jobs import Training
from bench.resilience.hosts_lab import USER

LOST = {"detect": ("takeover", "host_lost"), "restart": ("generation_start",)}
LEFT = {"save": ("stopped", "host_lost"), "successor": ("job_start",), "agents": ("generation_start",)}


class Case(NamedTuple):
    """One kind of trial; `strike` says when it began."""

    shape: str
    what: str
    strike: Callable[[Training], float]
    arrange: Callable[[Training], None] = lambda _: None

    @property
    def name(self) -> str:
        """As it stands in the lines; in `handoff` all have the same shape."""
        return self.what if self.experiment == "handoff" else f"{self.shape}, {self.what}"

    @property
    def experiment(self) -> str:
        """Which one it belongs to."""
        return "handoff" if self.shape == "handoff" else "hosts"

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """A part of the time, and the events of which the first one ends it."""
        return LEFT if self.experiment == "handoff" else LOST


def _first(training: Training) -> str:
    """The host of the batch step: of our supervisor and rank 0, of torchrun's store."""
    return training.place.hosts_of(training.job())[0]


def _other(training: Training) -> str:
    """Another one that trains."""
    first = _first(training)
    return str(next(each["host"] for each in training.of("step") if each["host"] != first))


def _fault(kind: str, victim: Callable[[Training], str]) -> Callable[[Training], float]:
    def strike(training: Training) -> float:
        return training.place.strike(kind, victim(training))

    return strike


def _warn(training: Training) -> float:
    """Slurm's signal before a time limit, by the way that Slurm sends it, at a moment of ours."""
    job, at = training.job(), time.time()
    training.place.control(f"scancel --batch --signal=USR1 {job}")
    return at


def _push(training: Training) -> float:
    """A job of a higher quality of service wants those very hosts."""
    hosts = training.place.hosts_of(training.job())
    at = time.time()
    training.place.control(
        f"cd /tmp && sbatch --qos=urgent --nodes={len(hosts)} --nodelist={','.join(hosts)} --exclusive --time=5"
        " --output=/dev/null --wrap='srun sleep 240'",
        user=USER,
    )
    return at


def _full(free: int) -> Callable[[Training], None]:
    """No more hosts of the cluster are free than these."""

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
    *(Case(shape, what, strike) for shape in ("spare", "fewer") for what, strike in FAULTS),
    Case("handoff", "time limit, other hosts", _warn),
    Case("handoff", "time limit, same hosts", _warn, _full(0)),
    Case("handoff", "preemption", _push),
    Case("handoff", "host killed", _fault("kill-host", _other)),
    Case("handoff", "first host killed", _fault("kill-host", _first)),
    Case("handoff", "first host killed, same hosts", _fault("kill-host", _first), _full(1)),
)
