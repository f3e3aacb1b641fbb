"""Whether a run fits."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.plan.memory.coefficients import stored

if TYPE_CHECKING:
    from clusterwright.catalog.gpu import Gpu
    from clusterwright.plan.memory.coefficients import Coefficients
    from clusterwright.plan.prediction import Memory


class Fit(StrEnum):
    """The answer; a tight one counts as fitting."""

    FITS = "fits"
    TIGHT = "tight"  # closer to the limit than predictions are sure
    OOM = "oom"


def fits(memory: Memory, gpu: Gpu, fitted: Coefficients | None = None) -> Fit:
    """Against what CUDA offers a program on that GPU (`Gpu.usable_bytes`), for one layout.

    Predictions of sources that were not fitted are off by `typical` in the median and `spread` in three of
    four: within the first above the limit a run is not yet called out of memory, within the second below
    it is tight.
    """
    known = fitted or stored()
    need = float(memory.total)
    if need > gpu.usable_bytes * (1 + known.typical):
        return Fit.OOM
    return Fit.TIGHT if need * (1 + known.spread) > gpu.usable_bytes else Fit.FITS
