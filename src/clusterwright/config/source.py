"""The values of a spec file with the place of each, so that every message can point at both of its sides."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from clusterwright.errors import Finding, Location

Loc = tuple[str | int, ...]

MAX_EXCERPT = 60  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Spot:
    """Line and column, from 1, and the text that stands there, if it is one value."""

    line: int
    column: int
    excerpt: str = ""


@dataclass(slots=True)
class Source:
    """A file's values, the place of each, and what was wrong with its YAML."""

    file: str
    text: str
    values: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    faulty: set[Loc] = field(default_factory=set)
    _lines: list[str] = field(default_factory=list)
    keys: dict[Loc, Spot] = field(default_factory=dict)
    spots: dict[Loc, Spot] = field(default_factory=dict)

    def location(self, loc: Loc, *, key: bool = False) -> Location:
        """Where the value at that path stands (or its key); the nearest enclosing one where there is none."""
        nearest = loc
        if loc and loc[:1] not in self.spots:  # not in the file: it would stand at the top level
            return Location(self.file, 1, 1, dotted(loc), "(not given)")
        while nearest and nearest not in self.spots:
            nearest = nearest[:-1]
        spot = self.keys.get(nearest) if key else None
        spot = spot or self.spots.get(nearest) or Spot(1, 1)
        if nearest != loc or not spot.excerpt:  # the section is there, the value is not: point at its name
            spot = self.keys.get(nearest, spot)
        excerpt = self.spots[nearest].excerpt if nearest == loc and nearest else "(not given)" if loc else ""
        return Location(self.file, spot.line, spot.column, dotted(loc), excerpt, self.line(spot.line))

    def refuse(self, loc: Loc, finding: Finding) -> None:
        """Keep a finding; what the model says of the same path is then only its echo."""
        self.findings.append(finding)
        self.faulty.add(loc)

    def spot(self, line: int, column: int) -> Location:
        """A place by line and column, where no path is known."""
        return Location(self.file, line, column, source=self.line(line))

    def line(self, line: int) -> str:
        """One line of the text, by its number."""
        if not self._lines:
            self._lines = re.split(r"\r\n|\r|\n", self.text)
        return printable(self._lines[line - 1]) if line <= len(self._lines) else ""


def dotted(loc: Loc) -> str:
    """`nodes.a100.disks[0].size`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return printable(text.removeprefix("."))[: 4 * MAX_EXCERPT]


def printable(text: str) -> str:
    """The text with what could drive a terminal written out."""
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)
