"""What a job says at its end: the run's ledger, as lines for people and as ledger.json in the run's folder."""

from __future__ import annotations

from typing import Callable

from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.ledger import advice, figures, history, reading


def close(folder: Folder, say: Callable[[str], None]) -> None:
    """The ledger of the run so far, the file last: who waits for it has seen the lines.

    What is in the way is said, and ends nothing.
    """
    try:
        told = history.read(folder.path)
        found = figures.work_out(told)
        for line in [*reading.table(found), *advice.of(told.events, told.record)]:
            say(line)
        folder.write("ledger.json", figures.document(found))
    except Exception as why:  # noqa: BLE001 (a thread that must never end)
        say(f"the ledger could not be worked out: {type(why).__name__}: {why}")
