"""`wright plan predict IN.csv`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.predict.table_prediction import Predicted

_LONG = 3000  # rows
_MAX_MESSAGES = 20  # rows that failed, on a terminal; their notes have all


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
    from clusterwright.cli.plan._inputs import load_user_catalog, read_table, write_table

    prediction = _predicted(read_table(table, out), table.name, load_user_catalog(catalog))
    if out:
        write_table(out, prediction.text)
    if json:
        document = {"sort": prediction.sort, "rows": prediction.rows, "failed": prediction.failed}
        show_json({**document, "findings": prediction.problems, "remarks": prediction.remarks})
    else:
        if not out:
            show_text(prediction.text)
        _tell(prediction, out)
    return 1 if prediction.failed else 0


def _predicted(data: bytes, name: str, user_catalog: UserCatalog | None) -> Predicted:
    """In as many processes as there are cores, where the table is long enough to be worth it."""
    from clusterwright.plan.predict.table_prediction import predict as predicted

    if data.count(b"\n") < _LONG:
        return predicted(data, name, user_catalog)
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor() as pool:
        return predicted(data, name, user_catalog, pool.map)


def _tell(prediction: Predicted, out: Path | None) -> None:
    from clusterwright.cli._show import show_message

    for remark in prediction.remarks[:_MAX_MESSAGES]:
        show_message(f"note: {remark}")
    for problem in prediction.problems[:_MAX_MESSAGES]:
        show_message(f"{problem}\n")
    hidden = len(prediction.problems) - _MAX_MESSAGES
    if hidden > 0:
        show_message(_("... and {hidden} more; every row's note names its own\n", hidden=hidden))
    success_count = prediction.rows - prediction.failed
    show_message(
        _(
            "{success_count} of {rows} {sort} rows predicted{value}",
            success_count=success_count,
            rows=prediction.rows,
            sort=prediction.sort,
            value=f", in {out}" if out else "",
        )
    )
