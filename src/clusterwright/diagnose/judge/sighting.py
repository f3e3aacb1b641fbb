"""Observations in logs, as values.

Sightings are lines that match a failure mode; witnesses are lines that confirm a mode or rule it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterwright.diagnose.mode import Mode


@dataclass(frozen=True, slots=True)
class Position:
    """The number of a line in a source; `order` is the number of the part in a rotated log."""

    source: str
    line: int
    group: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Sighting:
    """A line that matches a failure mode, with its rank, host, time and named values."""

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
        """Return the role of the sighting's line: that of its signature, else of its mode."""
        return self.mode.signatures[self.signature].role or self.mode.role

    @property
    def has(self) -> str:
        """Return the text of the signature that the sighting's line contains."""
        return self.mode.signatures[self.signature].has


@dataclass(frozen=True, slots=True)
class Witnessed:
    """A line that contains the text of a mode's witness."""

    position: Position
    text: str


@dataclass(frozen=True, slots=True)
class NormalValue:
    """A value in the output of a command that is within its normal range, as a sentence."""

    position: Position
    text: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Observations:
    """All evidence: sightings, lines of witnesses by text, and the last error lines of sources."""

    sightings: tuple[Sighting, ...] = ()
    witnessed: Mapping[str, tuple[Witnessed, ...]] = field(default_factory=dict)
    last_lines: tuple[tuple[Position, tuple[str, ...]], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()  # sources that could not be read, and why
    modes: Mapping[str, Mode] = field(default_factory=dict)  # alternative modes (`maybe`) by id
    normal: tuple[NormalValue, ...] = ()
    cut_short: tuple[Position, ...] = ()  # where the time budget of a source was used up
