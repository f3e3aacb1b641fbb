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
_WORD = re.compile(
    rf"[ \t]+|[{_OPENING}]*(?:[{_WIDE}]|(?:`[^`]+`|[^ \t{_WIDE}{_OPENING}{_CLOSING}])+)?[{_CLOSING}]*"
)
_SGR = re.compile("\x1b\\[[0-9;]*m")
_BULLET = re.compile(r" *(?:[-*+] |\d+[.)] )? *")
_COLUMN = re.compile(r" *[^ ].*?  +(?=[^ ])")  # up to the text of a row: `fix      reseat the GPU`
_LABEL = re.compile("[^ ]+: |[^ \uff1a]{1,8}\uff1a")  # `note: ...`, `error[usage]: ...`
_SOURCE, _CARET = re.compile(r"\s*\d+ \| "), re.compile(r"\s+\| \s*\^$")
_FENCE, _VERBATIM = "```", ("|", "#")


def fit(text: str, stream: Any) -> str:
    """Return the text as the stream shows it: wrapped to the width of a terminal, unchanged elsewhere."""
    columns = terminal_columns(stream)
    return (wrap_text(text, columns) if columns else text).replace(_FIXED_SPACE, " ")


def command_text(command: str) -> str:
    """Return a command as one word, which `fit` does not wrap."""
    return command.replace(" ", _FIXED_SPACE)


def terminal_columns(stream: Any) -> int | None:
    """Return the width of the terminal that the stream writes to; None if it is no terminal."""
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
    plain = _SGR.sub("", line)
    if (row := _COLUMN.match(plain)) and (column := _columns(row[0])) <= width // 2:
        return column
    bullet = _BULLET.match(plain)
    indent = _columns(bullet[0]) if bullet else 0
    return min(indent + 2 * bool(_LABEL.match(plain, indent)), width // 2)


def _wrapped(line: str, width: int) -> Iterator[str]:
    indent = " " * _hanging(line, width)
    current, used, space = "", 0, ""
    for word in _words(line, width - len(indent)):
        if word[0] in _BLANKS:
            space = word
            continue
        columns = _columns(word)
        if current.strip() and used + len(space) + columns > width:
            yield current
            current, used = indent + word, len(indent) + columns
        else:
            current, used = current + space + word, used + len(space) + columns
        space = ""
    yield current


def _words(line: str, width: int) -> Iterator[str]:
    """Yield words and the spaces between them; text in back-ticks is one word if it fits a line."""
    for word in _WORD.findall(line.rstrip()):
        if " " in word and word[0] not in _BLANKS and _columns(word) > width:
            yield from re.findall(r" +|[^ ]+", word)
        elif word:
            yield word


def _excerpt(source: str, caret: str, width: int) -> tuple[str, str]:
    """Return a source line and the caret below it, cut to the columns around the caret."""
    start = source.index("| ") + 2
    column = len(caret) - 1 - start
    shown = width - start
    first = max(0, min(column - shown // 2, len(source) - start - shown))
    return source[:start] + source[start + first :][:shown], caret[:start] + " " * (column - first) + "^"
