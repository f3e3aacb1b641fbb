"""`wright plan predict IN.csv`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from clusterwright.catalog.own import Own
    from clusterwright.plan.predict.whole import Predicted

_LONG = 3000  # rows
_SHOWN = 20  # rows that failed, on a terminal; their notes have all


def predict(
    table: Path,
    /,
    *,
    out: Path | None = None,
    catalog: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Predict every row of a table of training runs, convolutional networks or collective operations.

    Which sort it is is told by its header. Every column is kept; measured ones are never looked at. A row that cannot
    be predicted has the reason in its note, and the others are predicted all the same: exit code 1.

    Parameters
    ----------
    table
        The table, a CSV with a header.
    out
        Write the table with its predictions here; without it, it goes to stdout.
    catalog
        GPUs and models of your own.
    json
        The counts and findings as one JSON document on stdout.
    """
    from clusterwright.cli._show import show_json, show_text
    from clusterwright.cli.plan._inputs import own_rows, read_table, write_table

    found = _predicted(read_table(table, out), table.name, own_rows(catalog))
    if out:
        write_table(out, found.text)
    if json:
        document = {"sort": found.sort, "rows": found.rows, "failed": found.failed}
        show_json({**document, "findings": found.problems, "remarks": found.remarks})
    else:
        if not out:
            show_text(found.text)
        _tell(found, out)
    return 1 if found.failed else 0


def _predicted(data: bytes, name: str, own: Own | None) -> Predicted:
    """In as many processes as there are cores, where the table is long enough to be worth it."""
    from clusterwright.plan.predict.whole import predict as predicted

    if data.count(b"\n") < _LONG:
        return predicted(data, name, own)
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor() as pool:
        return predicted(data, name, own, pool.map)


def _tell(found: Predicted, out: Path | None) -> None:
    from clusterwright.cli._show import say

    for remark in found.remarks[:_SHOWN]:
        say(f"note: {remark}")
    for problem in found.problems[:_SHOWN]:
        say(f"{problem}\n")
    hidden = len(found.problems) - _SHOWN
    if hidden > 0:
        say(f"... and {hidden} more; every row's note names its own\n")
    done = found.rows - found.failed
    say(f"{done} of {found.rows} {found.sort} rows predicted{f', in {out}' if out else ''}")
