"""Render an HTML page: light and dark, desktop, phone and print; without scripts or external resources."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from string import Template

WIDE = 960.0  # width of a drawing on a desktop, in pixels
NARROW = 340.0  # for a phone of 390 pixels, so that text keeps its size


def document(title: str, body: str, *, style: str = "") -> str:
    """Return a whole HTML page: the shared style sheet, then `style`; `body` is HTML, `title` is plain text."""
    folder = Path(__file__).parent
    sheet = (folder / "page.css").read_text(encoding="utf-8") + style
    shell = Template((folder / "page.html").read_text(encoding="utf-8"))
    return shell.substitute(title=escape(title), style=sheet, body=body)


def responsive_html(drawing: Callable[[float], str]) -> str:
    """Return the HTML of a drawing in desktop and phone width; the style sheet shows one of them."""
    return f'<div class="wide">{drawing(WIDE)}</div><div class="narrow">{drawing(NARROW)}</div>'
