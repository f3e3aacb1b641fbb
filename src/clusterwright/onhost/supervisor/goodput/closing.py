"""What a job says at its end: the run's ledger, as lines for people and as ledger.json in the run's folder."""

from __future__ import annotations

from typing import Callable

from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.goodput import advice, figures, history, reading


def close(folder: Folder, log: Callable[[str], None]) -> None:
    """The ledger of the run so far, the file last: who waits for it has seen the lines.

    What is in the way is said, and ends nothing.
    """
    try:
        run_history = history.read(folder.path)
        run_figures = figures.work_out(run_history)
        for line in [
            *reading.table(run_figures),
            *advice.list_advice(run_history.events, run_history.record),
        ]:
            log(line)
        folder.write("ledger.json", figures.document(run_figures))
    except Exception as error:  # noqa: BLE001 (a thread that must never end)
        log(f"the ledger could not be worked out: {type(error).__name__}: {error}")
