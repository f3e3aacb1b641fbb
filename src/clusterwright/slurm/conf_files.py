"""Slurm's configuration files: logical lines and their KEY=VALUE pairs, as Slurm's parser reads them."""

import io
import re
from typing import Iterator, NamedTuple, Tuple

# A key, an optional operator, and a value that may be quoted.
_PAIR = re.compile(r'([A-Za-z][A-Za-z0-9_.]*)\s*[-+*/]?=\s*("[^"]*"|\S*)')
_COMMENT = re.compile(r"(?<!\\)#.*")


class ConfLine(NamedTuple):
    """One logical line: its first line's number, its text without comment, and its pairs without quotes."""

    number: int
    text: str
    pairs: Tuple[Tuple[str, str], ...]

    @property
    def include(self) -> str:
        """The path that an `Include` line of a Slurm file names, as written; "" for other lines."""
        items = self.text.split(None, 1)
        return items[1].strip() if len(items) == 2 and items[0].lower() == "include" else ""

    @property
    def leading_token(self) -> str:
        """The first word of the line; "" for an empty line."""
        return next(iter(self.text.split(None, 1)), "")


def conf_lines(text: str) -> Iterator[ConfLine]:
    """Yield logical lines, also empty ones, with their first number: without comments, joined at backslashes."""
    logical_line, first_number = "", 0
    for number, line in enumerate(io.StringIO(text), 1):
        part = _COMMENT.sub("", line).rstrip()
        first_number = first_number or number
        if part.endswith("\\"):
            logical_line += part[:-1] + " "
            continue
        yield _line(first_number, logical_line + part)
        logical_line, first_number = "", 0
    if logical_line:
        yield _line(first_number, logical_line)


def _line(number: int, text: str) -> ConfLine:
    line = ConfLine(number, text, ())
    pairs = () if line.include else _PAIR.findall(text)
    return line._replace(pairs=tuple((key, value.strip('"')) for key, value in pairs))
