"""Files of hosts as `tail -v` prints several of them: a heading with the path, then the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADING = re.compile(r"==> (/\S+) <==")
Line = tuple[str, int, str]  # file, number, text


def file_lines(text: str) -> Iterator[Line]:
    """Yield file, number and text of each line with more than a comment, from a text of several files."""
    file, number = "", 0
    for line in text.splitlines():
        if match := _HEADING.fullmatch(line):
            file, number = match[1], 0
            continue
        number += 1
        content = line.partition("#")[0].strip()
        if file and content and not content.startswith(";"):
            yield file, number, content


def is_id(text: str) -> bool:
    """Return True if a text is the number of a user or group."""
    return text.isascii() and text.isdigit() and len(text) < 11
