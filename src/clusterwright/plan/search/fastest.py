"""Search over all parallel layouts of a model on a machine: `search(training, machine) -> SearchOutcome`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options
    from clusterwright.plan.search.outcome import SearchOutcome


def search(training: Training, machine: Machine, *, options: Options | None = None) -> SearchOutcome:
    """Find the fastest layout that fits into memory (exhaustively), the next best ones, and why they are slower.

    Times are in seconds, memory in bytes per GPU. `best` is None if no layout fits; it never is None otherwise.
    On a GPU without bf16 units, fp16 is planned in place of bf16.

    Raises:
        WrightError: `plan-bad-size` or indivisible sizes (all at once), `plan-no-layout`, or `plan-needs-numpy`.
    """
    from clusterwright.plan.assumptions import usual_precision
    from clusterwright.plan.search.meshes import require_numpy, require_sizes
    from clusterwright.plan.search.options import Options

    chosen = options or Options()
    training = replace(training, precision=usual_precision(machine.gpu, training.precision))
    require_sizes(training, machine, chosen)
    require_numpy()
    from clusterwright.plan.search.answer import answer

    return answer(training, machine, chosen)
