"""The goodput accounting at the end of a job, as log lines and as ledger.json in the run's folder."""

from __future__ import annotations

from typing import Callable

from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.goodput import advice, figures, history, reading


def close(folder: Folder, log: Callable[[str], None]) -> None:
    """Log the accounting of the run so far, then write ledger.json: who waits for the file finds the lines logged.

    An error is logged and not raised.
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
    except Exception as error:  # noqa: BLE001 (the job's end must not fail)
        log(f"cannot compute the goodput accounting: {type(error).__name__}: {error}")
