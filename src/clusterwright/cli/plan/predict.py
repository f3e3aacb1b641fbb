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
_MAX_MESSAGES = 20  # printed; the note column has them all


def predict(
    table: Path,
    /,
    *,
    out: Path | None = None,
    catalog: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Predict every row of a CSV table of training runs, convolutional networks or collective operations.

    The header tells the kind of table. All columns are preserved; measured ones are ignored. A row that cannot be
    predicted has the reason in its note column; the exit code is then 1.

    Parameters
    ----------
    table
        CSV file with a header.
    out
        Write the table with predictions to this file; default: stdout.
    catalog
        File with your own GPUs and models.
    json
        Print the counts and findings as one JSON document.
    """
    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.cli._file_kinds import require_file_kind
    from clusterwright.cli._show import show_json, show_text
    from clusterwright.cli.plan._inputs import read_table, write_table

    require_file_kind(table, _("a CSV table"))
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
    """Return the predictions of a table; those of at least _LONG lines are computed on all cores."""
    from clusterwright.plan.predict.table_prediction import predict as predicted

    if data.count(b"\n") < _LONG:
        return predicted(data, name, user_catalog)
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor() as pool:
        return predicted(data, name, user_catalog, pool.map)


def _tell(prediction: Predicted, out: Path | None) -> None:
    from clusterwright.cli._show import show_message, show_note

    for remark in prediction.remarks[:_MAX_MESSAGES]:
        show_note(remark)
    for problem in prediction.problems[:_MAX_MESSAGES]:
        show_message(f"{problem}\n")
    hidden = len(prediction.problems) - _MAX_MESSAGES
    if hidden > 0:
        show_message(_("... and {count} more, see the note column", count=hidden))
    good, rows = prediction.rows - prediction.failed, prediction.rows
    show_message(
        _("predicted {count} of {total} rows ({kind})", count=good, total=rows, kind=_(prediction.sort))
    )
    if out:
        show_message(_("written: {files}", files=out))
