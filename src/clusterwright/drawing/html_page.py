"""One page of ours: light and dark, desk, phone and paper; no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from string import Template

WIDE = 960.0  # units of a drawing on a desk: the page is as many pixels wide
NARROW = 340.0  # on a phone of 390 pixels, so that text keeps its size


def document(title: str, body: str, *, style: str = "") -> str:
    """The whole page: the house's style sheet, then the page's own; `body` is HTML, `title` is plain text."""
    folder = Path(__file__).parent
    sheet = (folder / "page.css").read_text(encoding="utf-8") + style
    shell = Template((folder / "page.html").read_text(encoding="utf-8"))
    return shell.substitute(title=escape(title), style=sheet, body=body)


def responsive_html(drawing: Callable[[float], str]) -> str:
    """The drawing for a desk and for a phone; the style sheet shows one of them."""
    return f'<div class="wide">{drawing(WIDE)}</div><div class="narrow">{drawing(NARROW)}</div>'
