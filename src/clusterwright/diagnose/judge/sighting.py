"""What was read, as the judge gets it: values, and nothing that reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterwright.diagnose.mode import Mode


@dataclass(frozen=True, slots=True)
class Position:
    """One line of one source; `order` grows with the lines of all parts of a log."""

    source: str
    line: int
    group: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Sighting:
    """A line that tells of a mode, who said it and when, and the names it gives."""

    mode: Mode
    signature: int
    position: Position
    text: str
    rank: str = ""
    host: str = ""
    seconds: float | None = None
    clock: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    count: int = 1  # lines of this rank with the same signature

    @property
    def role(self) -> str:
        """What the line means: its own signature's word, or the mode's."""
        return self.mode.signatures[self.signature].role or self.mode.role

    @property
    def has(self) -> str:
        """The text it was known by."""
        return self.mode.signatures[self.signature].has


@dataclass(frozen=True, slots=True)
class Witnessed:
    """A line that holds a witness's text."""

    position: Position
    text: str


@dataclass(frozen=True, slots=True)
class Observations:
    """All evidence: sightings, lines of witnesses by their texts, and what was said last where nothing is known."""

    sightings: tuple[Sighting, ...] = ()
    witnessed: Mapping[str, tuple[Witnessed, ...]] = field(default_factory=dict)
    last_lines: tuple[tuple[Position, tuple[str, ...]], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()  # sources that could not be read, and why
    modes: Mapping[str, Mode] = field(
        default_factory=dict
    )  # that the lines may tell of as well (`maybe`), by id
