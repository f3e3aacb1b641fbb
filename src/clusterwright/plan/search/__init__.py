"""All layouts of a model on a machine, ranked: `search(training, machine) -> Outcome`. Needs numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.search.options import Options
from clusterwright.plan.search.outcome import Counts, Family, Loss, Outcome, Plan

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training

__all__ = ["Counts", "Family", "Loss", "Options", "Outcome", "Plan", "search"]


def search(training: Training, machine: Machine, *, options: Options | None = None) -> Outcome:
    """The fastest layout that fits, exactly; what comes after it, and why.

    Raises:
        WrightError: sizes that are none, or that nothing divides (all of them at once), or no numpy.
    """
    from clusterwright.plan.search.answer import answer
    from clusterwright.plan.search.meshes import require_numpy, require_sizes

    chosen = options or Options()
    require_sizes(training, machine, chosen)
    require_numpy()
    return answer(training, machine, chosen)
