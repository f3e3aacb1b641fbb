"""What lies over the screen for a while: more about one thing, the keys, a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from clusterwright.monitor.top.forms import Cell
from clusterwright.monitor.top.messages import KEYS, Lang, translate


class TextScreen(ModalScreen[None]):
    """Lines of text that can be scrolled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", show=False),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def __init__(self, lines: Sequence[Sequence[Cell]], lang: Lang) -> None:
        super().__init__()
        self._lines, self._lang = lines, lang

    def compose(self) -> ComposeResult:
        """The lines, and how to get back."""
        with VerticalScroll(id="page"):
            yield Static(assembled(self._lines), markup=False)
            yield Static(translate("close", self._lang), classes="hint", markup=False)

    def action_scroll(self, by: int) -> None:
        """Line by line."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)


class ConfirmScreen(ModalScreen[bool]):
    """A question; only `y` is a yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", show=False),
        Binding("n,escape,q,enter", "answer(False)", show=False),
    ]

    def __init__(self, question: str, lang: Lang) -> None:
        super().__init__()
        self._question, self._lang = question, lang

    def compose(self) -> ComposeResult:
        """The question, and how to answer."""
        with VerticalScroll(id="page"):
            yield Static(Text(self._question, "bold"), markup=False)
            yield Static(translate("yes_no", self._lang), classes="hint", markup=False)

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 (a key's action)
        """It is answered."""
        self.dismiss(answer)


def assembled(lines: Sequence[Sequence[Cell]]) -> Text:
    """Lines of cells as one text."""
    text = Text()
    for line in lines:
        for part, style in line:
            text.append(part, style)
        text.append("\n")
    return text


def keys(lang: Lang) -> list[list[Cell]]:
    """The keys, and what they do."""
    return [[(f"{name:<16}", "bold"), (zh if lang == "zh" else en, "")] for name, en, zh in KEYS]
