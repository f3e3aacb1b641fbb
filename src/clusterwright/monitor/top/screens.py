"""Modal screens: details of a row, the keys, a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from clusterwright.i18n import _
from clusterwright.monitor.top.forms import Cell
from clusterwright.monitor.top.messages import KEYS


class TextScreen(ModalScreen[None]):
    """A modal screen with a text that scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", show=False),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def __init__(self, lines: Sequence[Sequence[Cell]]) -> None:
        super().__init__()
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Yield the text, and the keys that close the screen."""
        with VerticalScroll(id="page"):
            yield Static(assembled(self._lines), markup=False)
            yield Static(_("Esc, q: back"), classes="hint", markup=False)

    def action_scroll(self, by: int) -> None:
        """Scroll the text down by `by` lines (negative: up)."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)


class ConfirmScreen(ModalScreen[bool]):
    """A modal screen with a question; only the key `y` confirms."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", show=False),
        Binding("n,escape,q,enter", "answer(False)", show=False),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Yield the widgets of the screen: the question, and the keys that answer it."""
        with VerticalScroll(id="page"):
            yield Static(Text(self._question, "bold"), markup=False)
            yield Static(_("y: cancel the job    n, Esc: keep the job"), classes="hint", markup=False)

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 (a key's action)
        """Close the screen with the answer as its result."""
        self.dismiss(answer)


def assembled(lines: Sequence[Sequence[Cell]]) -> Text:
    """Join lines of styled cells into one Rich text, with a line break after each line."""
    text = Text()
    for line in lines:
        for part, style in line:
            text.append(part, style)
        text.append("\n")
    return text


def keys() -> list[list[Cell]]:
    """Return the lines of the help: each key of the screen with what it does, as styled cells."""
    return [[(f"{name:<16}", "bold"), (_(text), "")] for name, text in KEYS]
