"""One screen of the cluster printed with Rich, for `--batch` and for output that is not a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from clusterwright.i18n import _
from clusterwright.monitor.snapshot import Snapshot
from clusterwright.monitor.top import columns
from clusterwright.monitor.top.columns import Cells, Column, RenderOptions, fitting
from clusterwright.monitor.top.groups import groups
from clusterwright.monitor.top.messages import label
from clusterwright.monitor.top.queue import View

R = TypeVar("R")
GROUPS, ALERTS, TEAMS = 20, 8, 8  # maximum rows of groups, alerts and teams


def print_screen(snapshot: Snapshot, options: RenderOptions, console: Console, *, rows: int) -> None:
    """Print headline, nodes, teams, alerts and jobs once, cropped to the console's width and about `rows` lines."""
    for line in lines(snapshot, options, console.width, rows):
        console.print(line, no_wrap=True, overflow="crop", crop=True, highlight=False)


def lines(snapshot: Snapshot, options: RenderOptions, width: int, rows: int) -> list[Text]:
    """Return the screen as lines of text, about `rows` of them.

    Of groups, teams and alerts only the first are listed, of jobs as many as fit, at least 5.
    """
    rendered = folded(columns.headline(snapshot), width)
    rendered += [Text(columns.missing(item), "magenta") for item in snapshot.missing]
    kinds = groups(snapshot.nodes)
    rendered += _table(columns.NODES, kinds[:GROUPS], columns.of_group, options, width)
    if len(kinds) > GROUPS:
        rendered.append(Text(_("and {count} more", count=len(kinds) - GROUPS), "dim"))
    rendered += _table(columns.TEAMS, snapshot.teams[:TEAMS], columns.of_team, options, width)
    rendered += _table(columns.ALERTS, snapshot.alerts[:ALERTS], columns.of_alert, options, width)
    job_rows = max(5, rows - len(rendered) - 4)
    jobs = View().select(snapshot.jobs)
    rendered += _table(columns.JOBS, jobs[:job_rows], columns.of_job, options, width)
    if len(jobs) > job_rows:
        rendered.append(Text(_("and {count} more", count=len(jobs) - job_rows), "dim"))
    return rendered


def _table(
    kinds: Sequence[Column],
    items: Sequence[R],
    cells: Callable[[R, RenderOptions], Cells],
    options: RenderOptions,
    width: int,
) -> Iterator[Text]:
    if not items:
        return
    layout = fitting(kinds, width)
    yield Text()
    heads = [[(label(column.name), "dim bold")] for column in kinds]
    yield row(heads, layout)
    for item in items:
        yield row(cells(item, options), layout)


def row(cells: Cells, layout: Sequence[tuple[int, Column, int]]) -> Text:
    """Return the cells as one line, each cut or padded to its column's width; a Chinese character takes two.

    `layout` lists index of the cell, column and width.
    """
    line = Text(end="")
    for index, column, wide in layout:
        parts = cells[index]
        length = sum(cell_len(text) for text, _ in parts)
        if column.align_right and length < wide:
            line.append(" " * (wide - length))
        remaining = wide
        for text, style in parts:
            clipped = set_cell_size(text, min(remaining, cell_len(text)))
            line.append(clipped, style)
            remaining -= cell_len(clipped)
        if not column.align_right or length > wide:
            line.append(" " * max(0, remaining))
        line.append(" ")
    return line


def folded(groups_of_cells: Cells, width: int) -> list[Text]:
    """Wrap groups of cells to the width; each group stays on one line, also if it is wider."""
    wrapped = [Text()]
    for cells in groups_of_cells:
        length = sum(cell_len(text) for text, _ in cells)
        if wrapped[-1] and wrapped[-1].cell_len + 2 + length > width:
            wrapped.append(Text())
        elif wrapped[-1]:
            wrapped[-1].append("  ")
        for text, style in cells:
            wrapped[-1].append(text, style)
    return wrapped
