"""`wright plan catalog KIND [NAME]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Kind = Literal[
    "gpus", "models", "networks", "nics", "switches", "cables", "storage", "servers", "prices", "software"
]


def catalog(
    kind: Kind,
    name: str = "",
    /,
    *,
    catalog: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """List what the planner knows, each row with its source; or show one row in full.

    Parameters
    ----------
    kind
        What is listed: GPUs, model architectures, convolutional networks, parts, servers, prices or software.
    name
        One row in full, in any spelling that the planner takes.
    catalog
        A file with rows of your own, which come first; ./catalog.toml if left out.
    json
        The rows as one JSON document, in base units: bytes, bits or FLOP per second, watts, seconds.
    """
    from clusterwright.cli._plan._listed import listed, one, prices_of, rows_of, told
    from clusterwright.cli._plan._own import own_rows
    from clusterwright.cli._show import show_json, show_table, show_text

    own = own_rows(catalog)
    if name and kind != "prices":
        row = one(kind, name, own)
        show_json(row) if json else show_text(told(row))
        return 0
    rows = prices_of(name, own) if name else rows_of(kind, own)
    show_json(rows) if json else show_table(*listed(kind, rows))
    return 0
