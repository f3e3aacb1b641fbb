"""A list that renders only its visible rows: 5,000 jobs cost as much as fifty."""

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
    """Rows under headings, with a cursor that stays on its row when the rows change."""

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
        """A row was chosen with Enter or a double click."""

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
        """Replace rows and headings; the cursor stays on the same item, or at its row if that item is gone."""
        cursor_key, previous_cursor = self._key(self.items[self.cursor]) if self.items else "", self.cursor
        self.items, self._heads = list(items), heads
        keys = (index for index, item in enumerate(self.items) if self._key(item) == cursor_key)
        self.cursor = next(keys, max(0, min(self.cursor, len(self.items) - 1)))
        self.virtual_size = Size(0, len(self.items) + 1)
        if self.cursor != previous_cursor:
            self.scroll_to(y=max(0, self.scroll_offset.y + self.cursor - previous_cursor), animate=False)
        self.refresh()

    def to_top(self) -> None:
        """Remove all rows and scroll to the top, so that the next `fill` puts the cursor on its first row."""
        self.items, self.cursor = [], 0
        self.scroll_to(y=0, animate=False)

    @property
    def chosen(self) -> Any:
        """The item under the cursor; None in an empty list."""
        return self.items[self.cursor] if self.items else None

    def action_move(self, by: int) -> None:
        """Move the cursor down by a number of rows (negative: up), at most to the ends, and scroll to it."""
        if not self.items:
            return
        self.cursor = max(0, min(self.cursor + by, len(self.items) - 1))
        page_rows = max(1, self.size.height - 1)
        top = round(self.scroll_offset.y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + page_rows:
            self.scroll_to(y=self.cursor - page_rows + 1, animate=False)
        self.refresh()

    def action_page(self, by: int) -> None:
        """Move the cursor down by `by` pages (negative: up), each of about as many rows as are visible."""
        self.action_move(by * max(1, self.size.height - 2))

    def action_choose(self) -> None:
        """Post Chosen for the row under the cursor; nothing in an empty list."""
        if self.items:
            self.post_message(self.Chosen(self, self.chosen))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; a double click chooses it, as Enter does."""
        index = event.y - 1 + round(self.scroll_offset.y)
        if event.y >= 1 and index < len(self.items):
            is_double_click = index == self.cursor and event.chain > 1
            self.cursor = index
            self.refresh()
            if is_double_click:
                self.action_choose()

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the screen: 0 has the headings, which stay fixed; rows scroll; blank after the last."""
        width = self.scrollable_content_region.width
        layout = fitting(self._columns, width)
        if y == 0:
            return (
                _strip([[(head, "")] for head in self._heads], layout, width, _HEAD)
                if self._heads
                else Strip.blank(width)
            )
        index = y - 1 + round(self.scroll_offset.y)
        if index >= len(self.items):
            return Strip.blank(width)
        over = _CURSOR if index == self.cursor and self.has_focus else None
        return _strip(self._cells(self.items[index]), layout, width, over)


def _strip(cells: Cells, layout: Sequence[tuple[int, Column, int]], width: int, over: Style | None) -> Strip:
    """Return a line of cells side by side, each cut or padded to its column; `over` styles the selected row."""
    segments: list[Segment] = []
    for index, column, wide in layout:
        remaining, parts = wide, []
        for text, style in cells[index]:
            clipped = set_cell_size(text, min(remaining, cell_len(text)))
            remaining -= cell_len(clipped)
            cell_style = Style.parse(style) if style else Style.null()
            parts.append(Segment(clipped, cell_style + over if over else cell_style))
        gap = Segment(" " * remaining, over)
        segments += [gap, *parts] if column.align_right else [*parts, gap]
        segments.append(Segment(" ", over))
    return Strip(segments).adjust_cell_length(width, over or Style.null())
