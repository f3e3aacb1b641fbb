"""How commands show things: data on stdout, talk on stderr, tables without borders, one JSON document."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clusterwright.errors import WrightError
from clusterwright.i18n import _

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "unknown": "magenta", "skipped": "dim"}


def show_message(text: str) -> None:
    """Talk: progress and next steps, on stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def show_json(document: Any) -> None:
    """One JSON document on stdout; dataclasses become objects."""
    json.dump(document, sys.stdout, indent=2, default=_json_default)
    sys.stdout.write("\n")


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under headings on stdout; status words are coloured on a terminal, and readable without."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)


def _json_default(value: Any) -> Any:
    return (
        dataclasses.asdict(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type)
        else str(value)
    )


def show_text(text: str) -> None:
    """Data as text on stdout."""
    sys.stdout.write(f"{text.rstrip()}\n")


def write_file(to: Path, text: str) -> None:
    """A file, whole or not at all.

    Raises:
        WrightError: the folder is not there, or cannot be written.
    """
    from clusterwright.edge.files import write_file_atomic

    try:
        write_file_atomic(to, text)
    except OSError as error:
        raise WrightError.from_code(
            "report-not-written",
            f"{to}: {error.strerror}",
            _("name a file in a folder that you may write to"),
        ) from error
