"""The P10 to P90 range of a prediction, from residuals of held-out sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.catalog import fitted
from clusterwright.plan.run import Run
from clusterwright.plan.speed.coefficients import BITS, generation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.numbers import Real
    from clusterwright.plan.prediction import Time


def kind(run: Run) -> str:
    """Return the kind of a run for which errors are listed: `moe`, else `low-precision`, else `fsdp` or `dense`.

    `low-precision` is below 16 bits; `fsdp` also stands for DeepSpeed, MaxText and NeMo AutoModel.
    """
    if run.training.architecture.experts:
        return "moe"
    if BITS.get(run.training.precision, 16) < 16:
        return "low-precision"
    return "fsdp" if run.stack.family in {"fsdp", "deepspeed", "maxtext", "nemo-automodel"} else "dense"


def span(run: Run, time: Time, table: Mapping[str, list[float]] | None = None) -> tuple[Real, Real]:
    """Return P10 and P90 of an iteration's seconds, by kind of run on the GPU generation, else on all generations.

    A kind without figures takes those of `other`. `table`: fitted ranges, by default the published ones.
    """
    ranges = table if table is not None else fitted.coefficients("speed")["span"]
    plan = kind(run)
    low, high = ranges.get(f"{generation(run.machine.gpu)}.{plan}") or ranges.get(plan) or ranges["other"]
    return time.total * low, time.total * high
