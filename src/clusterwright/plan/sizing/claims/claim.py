"""One claim of the guides, and what we make of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What we say of a claim."""

    AGREE = "agree"
    PARTLY = "partly"
    DISAGREE = "disagree"
    CANNOT_TELL = "cannot tell"


CLOSE = 0.15  # of a figure: about twice the noise of repeated published runs, docs/accuracy.md
ROUGH = 0.50


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim held against the models. Figures are in `unit`; None where there is none to hold against."""

    name: str  # stable, for --json
    row: str  # of the mission: P1, V3
    said: str  # what the guides say, in our words
    figure: float | None
    computed: float | None
    unit: str
    inputs: str  # what it was computed for
    verdict: Verdict
    reason: str

    @property
    def off_by(self) -> float | None:
        """Computed over said, less 1; None where one of them is missing."""
        if self.figure is None or self.computed is None or not self.figure:
            return None
        return self.computed / self.figure - 1


def judged(figure: float, computed: float) -> Verdict:
    """Agree within 15%, partly within a half of it, else disagree."""
    off = abs(computed / figure - 1)
    return Verdict.AGREE if off <= CLOSE else Verdict.PARTLY if off <= ROUGH else Verdict.DISAGREE
