"""The values of a spec file with their lines and columns, so that messages can point at them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from clusterwright.errors import Finding, Location
from clusterwright.i18n import _
from clusterwright.onhost.lib.clean_text import clean

Loc = tuple[str | int, ...]

MAX_EXCERPT = 60  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Spot:
    """Line and column, from 1, and the text there, if it is a single value."""

    line: int
    column: int
    excerpt: str = ""


@dataclass(slots=True)
class Source:
    """A file's values, their places, and the findings about its YAML."""

    file: str
    text: str
    values: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    faulty: set[Loc] = field(default_factory=set)
    _lines: list[str] = field(default_factory=list)
    _printable_lines: dict[int, str] = field(
        default_factory=dict
    )  # a long line may have thousands of findings
    keys: dict[Loc, Spot] = field(default_factory=dict)
    spots: dict[Loc, Spot] = field(default_factory=dict)

    def location(self, loc: Loc, *, key: bool = False) -> Location:
        """Return the place of the value at a path, or of its key; if it is not set, of the enclosing section."""
        nearest = loc
        if loc and loc[:1] not in self.spots:  # not in the file: it belongs at the top level
            return Location(self.file, 1, 1, dotted(loc), _("(not set)"))
        while nearest and nearest not in self.spots:
            nearest = nearest[:-1]
        spot = self.keys.get(nearest) if key else None
        spot = spot or self.spots.get(nearest) or Spot(1, 1)
        if nearest != loc or not spot.excerpt:  # the section is set, the value is not: point at the section
            spot = self.keys.get(nearest, spot)
        excerpt = self.spots[nearest].excerpt if nearest == loc and nearest else _("(not set)") if loc else ""
        return Location(self.file, spot.line, spot.column, dotted(loc), excerpt, self.line(spot.line))

    def refuse(self, loc: Loc, finding: Finding) -> None:
        """Add a finding, and mark its path as faulty: errors of the model at that path would only repeat it."""
        self.findings.append(finding)
        self.faulty.add(loc)

    def spot(self, line: int, column: int) -> Location:
        """Return the place at a line and column, without a path."""
        return Location(self.file, line, column, source=self.line(line))

    def line(self, line: int) -> str:
        """Return the line of the text with that number, from 1; empty past the end."""
        if not self._lines:
            self._lines = re.split(r"\r\n|\r|\n", self.text)
        if line not in self._printable_lines:
            self._printable_lines[line] = printable(self._lines[line - 1]) if line <= len(self._lines) else ""
        return self._printable_lines[line]


def dotted(loc: Loc) -> str:
    """Format a path in the file as `nodes.a100.disks[0].size`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return printable(text.removeprefix("."))[: 4 * MAX_EXCERPT]


def printable(text: str) -> str:
    """Return the text on one line, with control characters as codes."""
    return clean(text).replace("\n", "\\n")
