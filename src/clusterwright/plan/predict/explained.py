"""One prediction, taken apart: where the time goes, what holds the memory, what would help, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from clusterwright.catalog import fitted
from clusterwright.plan import memory, speed
from clusterwright.plan.predict.changes import changes
from clusterwright.plan.speed.coefficients import peak as peak_rate
from clusterwright.plan.speed.meaning import MEANING

if TYPE_CHECKING:
    from clusterwright.plan.memory import MemoryFit
    from clusterwright.plan.predict.changes import Change
    from clusterwright.plan.prediction import Memory, Time
    from clusterwright.plan.run import Run

FITTED = "fitted"  # begins the source of a coefficient; the last of the origins says on what
PARTS = {
    "ideal": "model FLOPs at the peak of all GPUs",
    "inefficiency": "matrix products below the peak",
    "recompute": "activations computed again",
    "memory_bound": "norms, activations, casts: memory bandwidth",
    "tensor_parallel": "tensor-parallel communication",
    "context_parallel": "context-parallel communication",
    "expert_parallel": "expert-parallel communication",
    "pipeline_bubble": "pipeline bubble",
    "pipeline_comm": "pipeline communication",
    "data_parallel": "data-parallel communication",
    "optimizer": "optimiser",
    "input": "input, logging, synchronisation",
    "jitter": "waiting for the slowest GPU",
}


@dataclass(frozen=True, slots=True)
class Explained:
    """Everything that is said of one run."""

    run: Run
    notes: tuple[str, ...]
    time: Time
    low: float  # P10 of the iteration in seconds
    high: float  # P90
    bound: str
    mfu: float
    tokens_per_s_per_gpu: float
    stages: tuple[Memory, ...]
    fit: MemoryFit
    changes: tuple[Change, ...]
    origins: tuple[tuple[str, str, str], ...]  # what, value, source

    @property
    def parts(self) -> list[tuple[str, str, float, float]]:
        """Every part of the time that is there: name, words, seconds, share of the total."""
        total = float(self.time.total)
        seconds = {part.name: float(getattr(self.time, part.name)) for part in fields(self.time)}
        return [(name, PARTS[name], value, value / total) for name, value in seconds.items() if value]


def explained(run: Run, notes: tuple[str, ...] = ()) -> Explained:
    """The run predicted, taken apart."""
    time = speed.iteration(run)
    low, high = speed.span(run, time)
    total, work = float(time.total), run.training
    return Explained(
        run=run,
        notes=notes,
        time=time,
        low=float(low),
        high=float(high),
        bound=str(speed.bound(time)),
        mfu=float(time.ideal) / total,
        tokens_per_s_per_gpu=work.global_batch * work.seq_len / total / run.machine.gpus,
        stages=memory.stages(run),
        fit=memory.classify_fit(memory.peak(run), run.machine.gpu),
        changes=changes(run),
        origins=origins(run),
    )


def origins(run: Run) -> tuple[tuple[str, str, str], ...]:
    """What the prediction rests on: facts of the catalogue, and coefficients with what they were fitted on."""
    gpu, network = run.machine.gpu, run.machine.network
    facts = [
        (
            f"peak in {run.training.precision}",
            f"{peak_rate(gpu, run.training.precision) / 1e12:.4g} TFLOP/s",
            gpu.source,
        ),
        ("memory", f"{gpu.usable_bytes / 2**30:.4g} GiB usable", gpu.source),
        ("memory bandwidth", f"{gpu.memory_bytes_per_s / 1e12:.4g} TB/s", gpu.source),
    ]
    if run.machine.gpus > run.machine.gpus_per_node:
        rate = f"{network.nics:g} x {network.nic_bytes_per_s * 8 / 1e9:g} Gbit/s a node"
        facts.append((f"network ({network.kind})", rate, "the row, or the maker's reference system"))
    rates = speed.rates(run, speed.coefficients())
    names = [rate_field.name for rate_field in fields(rates) if rate_field.name != "peak"]
    coefficients = [
        (name.replace("_", " "), f"{getattr(rates, name):.4g}", f"{FITTED}: {MEANING[name]}")
        for name in names
    ]
    on = fitted.coefficients("speed")["_fitted_on"]
    source = f"on {on['rows']} published runs of {len(on['sources'])} sources, {on['date']}: {on['by']}"
    return (*facts, *coefficients, (FITTED, "", source))
