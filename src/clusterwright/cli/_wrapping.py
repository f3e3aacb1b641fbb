"""Text on a terminal: lines wrap at words to its width, with a hanging indent. Elsewhere text remains as it is.

A word that is longer than a line remains whole, so that paths and commands can be copied.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

COLUMNS = 80  # of a terminal that reports no size
_NARROWEST = 20
_BLANKS = " \t"
_FIXED_SPACE = "\u00a0"  # within a command to copy
_OPENING = "\uff08\u3008\u300a\u300c\u300e\u3010"  # Chinese punctuation that ends no line
_CLOSING = "\uff0c\u3002\u3001\uff1b\uff1a\uff01\uff1f\uff09\u3009\u300b\u300d\u300f\u3011"  # begins no line
_WIDE = "\u2e80-\u2fff\u3005-\u3007\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff"  # written without spaces
# Text: re compiles it on first use; most commands wrap nothing.
_TOKEN = rf"[ \t]+|[{_OPENING}]*(?:[{_WIDE}]|(?:`[^`]+`|[^ \t{_WIDE}{_OPENING}{_CLOSING}])+)?[{_CLOSING}]*"
_SGR = re.compile("\x1b\\[[0-9;]*m")
_BULLET = re.compile(r" *(?:[-*+] |\d+[.)] )? *")
_COLUMN = re.compile(r" *[^ ].*?  +(?=[^ ])")  # up to the text of a row: `fix      reseat the GPU`
_LABEL = re.compile("[^ ]+: |[^ \uff1a]{1,8}\uff1a")  # `note: ...`, `error[usage]: ...`
_SOURCE, _CARET = re.compile(r"\s*\d+ \| "), re.compile(r"\s+\| \s*\^$")
_FENCE, _VERBATIM = "```", ("|", "#")


def wrap_for_terminal(text: str, stream: Any) -> str:
    """Return the text as the stream shows it: wrapped to the width of a terminal, unchanged elsewhere."""
    columns = terminal_columns(stream)
    return (wrap_text(text, columns) if columns else text).replace(_FIXED_SPACE, " ")


def command_text(command: str) -> str:
    """Return a command in which `wrap_for_terminal` breaks no line, as its spaces are replaced."""
    return command.replace(" ", _FIXED_SPACE)


def terminal_columns(stream: Any) -> int | None:
    """Return the width of the terminal that the stream writes to; None if it is no terminal.

    $COLUMNS goes first; the width is at least _NARROWEST, and COLUMNS if it cannot be read.
    """
    if not stream.isatty():
        return None
    if (columns := os.environ.get("COLUMNS", "")).isdecimal() and int(columns):
        return max(_NARROWEST, int(columns))
    with suppress(OSError):
        return max(_NARROWEST, os.get_terminal_size(stream.fileno()).columns or COLUMNS)
    return COLUMNS


def wrap_text(text: str, width: int) -> str:
    """Return the text with lines of at most `width` columns; blocks of code and rows of Markdown tables remain."""
    lines, pending, is_code = [], text.split("\n"), False
    while pending:
        line = pending.pop(0)
        is_code ^= line.lstrip().startswith(_FENCE)
        if is_code or line.startswith(_VERBATIM) or _columns(line) <= width:
            lines.append(line)
        elif _SOURCE.match(line) and pending and _CARET.match(pending[0]):
            lines += _excerpt(line, pending.pop(0), width)
        else:
            lines += _wrapped(line, width)
    return "\n".join(lines)


def _columns(text: str) -> int:
    if text.isascii() and "\x1b" not in text:
        return len(text)
    from rich.cells import cell_len

    return cell_len(_SGR.sub("", text))


def _hanging(line: str, width: int) -> int:
    """Return the indent of the lines that follow the first: below its text, after a bullet, label or row name."""
    uncolored = _SGR.sub("", line)
    if (row := _COLUMN.match(uncolored)) and (column := _columns(row[0])) <= width // 2:
        return column
    bullet = _BULLET.match(uncolored)
    indent = _columns(bullet[0]) if bullet else 0
    return min(indent + 2 * bool(_LABEL.match(uncolored, indent)), width // 2)


def _wrapped(line: str, width: int) -> Iterator[str]:
    indent = " " * _hanging(line, width)
    current, used, space = "", 0, ""
    for token in _tokens(line, width - len(indent)):
        if token[0] in _BLANKS:
            space = token
            continue
        columns = _columns(token)
        if current.strip() and used + len(space) + columns > width:
            yield current
            current, used = indent + token, len(indent) + columns
        else:
            current, used = current + space + token, used + len(space) + columns
        space = ""
    yield current


def _tokens(line: str, width: int) -> Iterator[str]:
    """Yield the words of a line and the spaces between them; text in back-ticks is one word if it fits a line."""
    for token in re.findall(_TOKEN, line.rstrip()):
        if " " in token and token[0] not in _BLANKS and _columns(token) > width:
            yield from re.findall(r" +|[^ ]+", token)
        elif token:
            yield token


def _excerpt(source: str, caret: str, width: int) -> tuple[str, str]:
    """Return a source line and the caret below it, cut to the columns around the caret."""
    start = source.index("| ") + 2
    column = len(caret) - 1 - start
    visible_columns = width - start
    offset = max(0, min(column - visible_columns // 2, len(source) - start - visible_columns))
    return source[:start] + source[start + offset :][:visible_columns], caret[:start] + " " * (
        column - offset
    ) + "^"
