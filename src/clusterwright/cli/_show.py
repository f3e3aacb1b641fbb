"""Output of commands: data on stdout, messages on stderr, tables without borders, one JSON document."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clusterwright.cli._global_options import QUIET
from clusterwright.cli._wrapping import command_text, terminal_columns, wrap_for_terminal
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.clean_text import clean

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red", "unknown": "magenta", "skipped": "dim"}

_LONGEST_CELL = 2000  # characters; a user may have written megabytes
_FOLDED = 16  # characters of a line to which a long cell may fold


# Of visible progress, which writes messages above its block.
message_writers: list[Callable[[str], None]] = []


def show_error(text: str) -> None:
    """Print what went wrong on stderr, also with --quiet; the command continues."""
    if message_writers:
        message_writers[-1](text)
        return
    sys.stderr.write(f"{wrap_for_terminal(clean(text), sys.stderr)}\n")
    sys.stderr.flush()


def show_message(text: str) -> None:
    """Print progress or a next step on stderr, unless --quiet is given."""
    if not os.environ.get(QUIET):
        show_error(text)


def show_note(text: str) -> None:
    """Print a note on stderr, unless --quiet is given."""
    show_message(_("note: {text}", text=text))


def show_notes(notes: Iterable[object]) -> None:
    """Print the notes of a submission, a line each."""
    for note in notes:
        show_message(str(note))


def cluster_option(file: Path) -> str:
    """Return the option that names the cluster file in a command to copy: its path as the user gave it."""
    return f"--cluster {shlex.quote(str(file))}"


def show_next(command: str) -> None:
    """Print the command that usually follows on stderr, unless --quiet is given."""
    show_message(_("next: {command}", command=command_text(command)))


def show_run(name: str, job_id: str) -> None:
    """Print the name of a run that has started, its job, and the commands that follow it."""
    show_message(_("run {name}, job {job_id}", name=name, job_id=job_id))
    show_next(f"wright logs -f {name}; wright jobs; wright cancel {name}")


def show_heading(text: str) -> None:
    """Print a heading below an empty line on stdout."""
    show_text(f"\n{text}")


def show_json(document: Any) -> None:
    """Print one JSON document on stdout; dataclasses become objects."""
    json.dump(document, sys.stdout, indent=2, default=_json_default)
    sys.stdout.write("\n")


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under translated headings on stdout: aligned and in color on a terminal, else separated by tabs.

    On a narrow terminal long cells fold, and the last columns are left out if that is not enough.
    """
    headings = [_(column) for column in columns]
    cells = [[clean(cell[:_LONGEST_CELL], lines=False) for cell in row] for row in rows]
    width = terminal_columns(sys.stdout)
    if width is None:
        lines = ["\t".join(cell.replace("\t", " ") for cell in row) for row in [headings, *cells]]
        sys.stdout.write("\n".join(lines) + "\n")
        return
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_plain = bool(os.environ.get("NO_COLOR"))
    natural = [max(map(cell_len, column)) for column in zip(headings, *cells, strict=True)]
    least = [min(size, _FOLDED) for size in natural]
    column_count = next(
        (count for count in range(len(least), 1, -1) if sum(least[:count]) + 2 * count - 2 <= width),
        1,
    )
    table = Table(box=None, pad_edge=False, header_style="" if is_plain else "bold")
    for heading, size in zip(headings[:column_count], least[:column_count], strict=True):
        table.add_column(heading, overflow="fold", min_width=size)
    for row in cells:
        table.add_row(*(Text(cell, style=_COLORS.get(cell, "")) for cell in row[:column_count]))
    Console(width=width).print(table)
    if column_count < len(headings):
        show_note(
            _(
                "columns not shown, as the terminal is too narrow: {columns}",
                columns=", ".join(headings[column_count:]),
            )
        )


def show_records(columns: Sequence[str], records: Iterable[Mapping[str, object]]) -> None:
    """Print the named fields of records as a table on stdout."""
    show_table(columns, [[str(record[column]) for column in columns] for record in records])


def _json_default(value: Any) -> Any:
    return (
        dataclasses.asdict(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type)
        else str(value)
    )


def show_text(text: str) -> None:
    """Print text on stdout, wrapped at words on a terminal."""
    show_verbatim(wrap_for_terminal(clean(text).rstrip(), sys.stdout))


def show_verbatim(text: str) -> None:
    """Print code, a diff or a command to copy on stdout, never wrapped."""
    sys.stdout.write(f"{clean(text).rstrip()}\n")


def is_confirmed(question: str) -> bool:
    """Ask a question on the terminal; return True for y or yes."""
    sys.stderr.write(wrap_for_terminal(f"{question} [y/N]", sys.stderr) + " ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def write_file(to: Path, text: str) -> None:
    """Write the text, without control characters, to the file `to` atomically; missing folders are created.

    Raises:
        WrightError: `report-not-written`: it cannot be written.
        OSError: the disk is full.
    """
    from clusterwright.edge.files import write_file_atomic
    from clusterwright.onhost.lib.files import FULL

    try:
        write_file_atomic(to, clean(text), mode=None)
    except OSError as error:
        if error.errno in FULL:
            raise
        raise WrightError.from_code(
            "report-not-written",
            f"{to}: {error.strerror}",
            unwritten_fix(error, to),
        ) from error


def unwritten_fix(error: OSError, to: Path) -> str:
    """Return the fix for a file that cannot be written, by the reason."""
    folder = shlex.quote(str(to.parent))
    if error.errno == errno.EFBIG:
        return _("raise the limit of the size of files: ulimit -f unlimited")
    if error.errno == errno.EISDIR or to.is_dir():
        return _("name a file in that folder, such as {file}", file=shlex.quote(f"{to}/result"))
    if error.errno == errno.ENOENT:
        return _("create the folder first: mkdir -p {folder}", folder=folder)
    return _("choose a file in a folder that you may write to")
