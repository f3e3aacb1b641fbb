"""A list of any length of which only the visible rows are made: 5,000 jobs cost as much as fifty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from clusterwright.monitor.top.columns import Cells, Column, fitting

_HEAD = Style(bold=True, dim=True)
_CURSOR = Style(reverse=True)


class Listing(ScrollView, can_focus=True):
    """Rows under headings, with a cursor; it stays on its row when rows come and go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", show=False),
        Binding("k,up", "move(-1)", show=False),
        Binding("pagedown,ctrl+f", "page(1)", show=False),
        Binding("pageup,ctrl+b", "page(-1)", show=False),
        Binding("g,home", "move(-1000000)", show=False),
        Binding("G,end", "move(1000000)", show=False),
        Binding("enter", "choose", show=False),
    ]

    class Chosen(Message):
        """Enter was pressed on a row, or it was clicked twice."""

        def __init__(self, listing: Listing, item: Any) -> None:
            super().__init__()
            self.listing, self.item = listing, item

    def __init__(
        self,
        columns: Sequence[Column],
        cells: Callable[[Any], Cells],
        key: Callable[[Any], str],
        *,
        id: str,  # noqa: A002 (Textual's own name)
    ) -> None:
        super().__init__(id=id)
        self._columns, self._cells, self._key = columns, cells, key
        self._heads: list[str] = []
        self.items: list[Any] = []
        self.cursor = 0

    def fill(self, items: Sequence[Any], heads: list[str]) -> None:
        """Other rows; the cursor goes with the one that it was on."""
        before, place = self._key(self.items[self.cursor]) if self.items else "", self.cursor
        self.items, self._heads = list(items), heads
        keys = (at for at, item in enumerate(self.items) if self._key(item) == before)
        self.cursor = next(keys, max(0, min(self.cursor, len(self.items) - 1)))
        self.virtual_size = Size(0, len(self.items) + 1)
        if self.cursor != place:
            self.scroll_to(y=max(0, self.scroll_offset.y + self.cursor - place), animate=False)
        self.refresh()

    def to_top(self) -> None:
        """The cursor is on the first row, whatever that is then."""
        self.items, self.cursor = [], 0
        self.scroll_to(y=0, animate=False)

    @property
    def chosen(self) -> Any:
        """The item under the cursor; None in an empty list."""
        return self.items[self.cursor] if self.items else None

    def action_move(self, by: int) -> None:
        """The cursor goes down by so many rows."""
        if not self.items:
            return
        self.cursor = max(0, min(self.cursor + by, len(self.items) - 1))
        room = max(1, self.size.height - 1)
        top = round(self.scroll_offset.y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + room:
            self.scroll_to(y=self.cursor - room + 1, animate=False)
        self.refresh()

    def action_page(self, by: int) -> None:
        """By as many rows as are seen."""
        self.action_move(by * max(1, self.size.height - 2))

    def action_choose(self) -> None:
        """Whoever listens shows more of it."""
        if self.items:
            self.post_message(self.Chosen(self, self.chosen))

    def on_click(self, event: events.Click) -> None:
        """A click chooses the row, a second one opens it."""
        place = event.y - 1 + round(self.scroll_offset.y)
        if event.y >= 1 and place < len(self.items):
            again = place == self.cursor and event.chain > 1
            self.cursor = place
            self.refresh()
            if again:
                self.action_choose()

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the headings stay, rows scroll."""
        width = self.scrollable_content_region.width
        shown = fitting(self._columns, width)
        if y == 0:
            return (
                _strip([[(head, "")] for head in self._heads], shown, width, _HEAD)
                if self._heads
                else Strip.blank(width)
            )
        place = y - 1 + round(self.scroll_offset.y)
        if place >= len(self.items):
            return Strip.blank(width)
        over = _CURSOR if place == self.cursor and self.has_focus else None
        return _strip(self._cells(self.items[place]), shown, width, over)


def _strip(cells: Cells, shown: Sequence[tuple[int, Column, int]], width: int, over: Style | None) -> Strip:
    """Cells side by side, each as wide as its column."""
    segments: list[Segment] = []
    for place, column, wide in shown:
        left, parts = wide, []
        for text, style in cells[place]:
            cut = set_cell_size(text, min(left, cell_len(text)))
            left -= cell_len(cut)
            own = Style.parse(style) if style else Style.null()
            parts.append(Segment(cut, own + over if over else own))
        gap = Segment(" " * left, over)
        segments += [gap, *parts] if column.right else [*parts, gap]
        segments.append(Segment(" ", over))
    return Strip(segments).adjust_cell_length(width, over or Style.null())
