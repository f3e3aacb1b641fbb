"""Explanation of one prediction: parts of time and memory, changes that would help, and its sources."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from clusterwright.catalog import fitted
from clusterwright.i18n import _
from clusterwright.plan import memory, speed
from clusterwright.plan.charts.sheet import TIME
from clusterwright.plan.predict.changes import changes
from clusterwright.plan.speed.coefficients import peak as peak_rate
from clusterwright.plan.speed.meaning import MEANING
from clusterwright.units import human_bit_rate, human_byte_rate, human_size

if TYPE_CHECKING:
    from clusterwright.plan.memory import MemoryFit
    from clusterwright.plan.predict.changes import LayoutChange
    from clusterwright.plan.prediction import Memory, Time
    from clusterwright.plan.run import Run

FITTED = "fitted"  # prefix of the source of a coefficient; the last of the origins describes the fit


@dataclass(frozen=True, slots=True)
class Explained:
    """A prediction of one run with its parts, possible changes and sources."""

    run: Run
    notes: tuple[str, ...]
    time: Time
    low: float  # P10 of the iteration in seconds
    high: float  # P90
    bound: str
    mfu: float
    tokens_per_s_per_gpu: float
    stages: tuple[Memory, ...]
    memory_fit: MemoryFit
    changes: tuple[LayoutChange, ...]
    origins: tuple[tuple[str, str, str], ...]  # (quantity, value, source)

    @property
    def parts(self) -> list[tuple[str, str, float, float]]:
        """The parts of the iteration time above 0: (field, label, seconds, share of the total)."""
        total = float(self.time.total)
        seconds = {part.name: float(getattr(self.time, part.name)) for part in fields(self.time)}
        return [(name, _(TIME[name]), value, value / total) for name, value in seconds.items() if value]


def explained(run: Run, notes: tuple[str, ...] = ()) -> Explained:
    """Predict a run with an explanation; `notes`: what was inferred about it."""
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
        memory_fit=memory.classify_fit(memory.peak(run), run.machine.gpu),
        changes=changes(run),
        origins=origins(run),
    )


def origins(run: Run) -> tuple[tuple[str, str, str], ...]:
    """Return what a prediction derives from, as (quantity, value, source): catalog facts and fitted coefficients."""
    gpu, network = run.machine.gpu, run.machine.network
    facts = [
        (
            _("peak in {precision}", precision=run.training.precision),
            f"{peak_rate(gpu, run.training.precision) / 1e12:.4g} TFLOP/s",
            gpu.source,
        ),
        (_("memory"), _("{size} usable", size=human_size(gpu.usable_bytes)), gpu.source),
        (_("memory bandwidth"), human_byte_rate(gpu.memory_bytes_per_s), gpu.source),
    ]
    if run.machine.gpus > run.machine.gpus_per_node:
        rate = human_bit_rate(network.nic_bytes_per_s * 8)
        ports = _("{count:g} x {rate} per node", count=network.nics, rate=rate)
        source = _("the row, or the vendor's reference system")
        facts.append((_("network ({kind})", kind=network.kind), ports, source))
    rates = speed.rates(run, speed.coefficients())
    names = [rate_field.name for rate_field in fields(rates) if rate_field.name != "peak"]
    coefficients = [
        (name.replace("_", " "), f"{getattr(rates, name):.4g}", f"{FITTED}: {_(MEANING[name])}")
        for name in names
    ]
    on = fitted.coefficients("speed")["_fitted_on"]
    fit = _(
        "on {count} published runs of {sources} sources, {date}: {by}",
        count=on["rows"],
        sources=len(on["sources"]),
        date=on["date"],
        by=on["by"],
    )
    return (*facts, *coefficients, (FITTED, "", fit))
