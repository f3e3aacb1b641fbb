"""One screen of the cluster as Rich prints it, for `--once` and for what is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from clusterwright.monitor.picture import Picture, lacks
from clusterwright.monitor.picture.visible import visible
from clusterwright.monitor.top import columns
from clusterwright.monitor.top.columns import Cells, Column, Way, fitting
from clusterwright.monitor.top.groups import groups
from clusterwright.monitor.top.queue import View
from clusterwright.monitor.top.words import word

R = TypeVar("R")
GROUPS, ALERTS, TEAMS = 20, 8, 8  # rows of each at most, of a screen


def once(picture: Picture, way: Way, console: Console, *, rows: int) -> None:
    """The headline, nodes, teams, alerts, and as many jobs as there is room for."""
    for line in lines(picture, way, console.width, rows):
        console.print(line, no_wrap=True, overflow="crop", crop=True, highlight=False)


def lines(picture: Picture, way: Way, width: int, rows: int) -> list[Text]:
    """The screen's lines."""
    found = folded(columns.headline(picture, way), width)
    found += [
        Text(f"{word('missing', way.lang)}: {visible(lacks(each, way.lang))}", "magenta")
        for each in picture.missing
    ]
    kinds = groups(picture.nodes)
    found += _table(columns.NODES, kinds[:GROUPS], columns.of_group, way, width)
    if len(kinds) > GROUPS:
        found.append(Text(word("more", way.lang, count=len(kinds) - GROUPS), "dim"))
    found += _table(columns.TEAMS, picture.teams[:TEAMS], columns.of_team, way, width)
    found += _table(columns.ALERTS, picture.alerts[:ALERTS], columns.of_alert, way, width)
    room = max(5, rows - len(found) - 4)
    jobs = View().of(picture.jobs)
    found += _table(columns.JOBS, jobs[:room], columns.of_job, way, width)
    if len(jobs) > room:
        found.append(Text(word("more", way.lang, count=len(jobs) - room), "dim"))
    return found


def _table(
    kinds: Sequence[Column], items: Sequence[R], cells: Callable[[R, Way], Cells], way: Way, width: int
) -> Iterator[Text]:
    if not items:
        return
    shown = fitting(kinds, width)
    yield Text()
    heads = [[(word(column.name, way.lang), "dim bold")] for column in kinds]
    yield row(heads, shown)
    for item in items:
        yield row(cells(item, way), shown)


def row(cells: Cells, shown: Sequence[tuple[int, Column, int]]) -> Text:
    """Cells side by side, each as wide as its column; Chinese signs take two."""
    line = Text(end="")
    for place, column, wide in shown:
        parts = cells[place]
        length = sum(cell_len(text) for text, _ in parts)
        if column.right and length < wide:
            line.append(" " * (wide - length))
        left = wide
        for text, style in parts:
            cut = set_cell_size(text, min(left, cell_len(text)))
            line.append(cut, style)
            left -= cell_len(cut)
        if not column.right or length > wide:
            line.append(" " * max(0, left))
        line.append(" ")
    return line


def folded(groups_of_cells: Cells, width: int) -> list[Text]:
    """Words that belong together stay on one line."""
    found = [Text()]
    for cells in groups_of_cells:
        length = sum(cell_len(text) for text, _ in cells)
        if found[-1] and found[-1].cell_len + 2 + length > width:
            found.append(Text())
        elif found[-1]:
            found[-1].append("  ")
        for text, style in cells:
            found[-1].append(text, style)
    return found
