"""Files of hosts as `tail -v` prints several of them: a heading with the path, then the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADING = re.compile(r"==> (/\S+) <==")
Line = tuple[str, int, str]  # file, number, text


def file_lines(text: str) -> Iterator[Line]:
    """Yield the lines of the files that have more than a comment."""
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
    """Return whether a text is the number of a user or group."""
    return text.isascii() and text.isdigit() and len(text) < 11
