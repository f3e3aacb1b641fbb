"""Search over all parallel layouts of a model on a machine: `search(training, machine) -> Outcome`. Needs numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.search.options import Options
from clusterwright.plan.search.outcome import Counts, LayoutFamily, Loss, Plan, SearchOutcome

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training

__all__ = ["Counts", "LayoutFamily", "Loss", "Options", "Plan", "SearchOutcome", "search"]


def search(training: Training, machine: Machine, *, options: Options | None = None) -> SearchOutcome:
    """Find the fastest layout that fits into memory (exhaustively), the next best ones, and why they are slower.

    Raises:
        WrightError: invalid or indivisible sizes (all at once), or numpy is not installed.
    """
    from clusterwright.plan.search.meshes import require_numpy, require_sizes

    chosen = options or Options()
    require_sizes(training, machine, chosen)
    require_numpy()
    from clusterwright.plan.search.answer import answer

    return answer(training, machine, chosen)
