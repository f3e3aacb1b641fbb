"""One claim of a field guide, with the computed value and verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clusterwright.i18n import N_


class Verdict(StrEnum):
    """Verdict on a claim."""

    AGREE = N_("agree")
    PARTLY = N_("partly")
    DISAGREE = N_("disagree")
    INCONCLUSIVE = N_("cannot tell")


CLOSE = 0.15  # relative difference: about twice the noise of repeated published runs, docs/accuracy.md
ROUGH = 0.50


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim compared with the models. Figures are in `unit`; None if there is nothing to compare."""

    name: str  # stable, for --json
    row: str  # of the requirements: P1, V3
    statement: str  # the claim, paraphrased
    figure: float | None
    computed: float | None
    unit: str
    inputs: str  # of the computation
    verdict: Verdict
    reason: str
    right: str = ""  # what to type, set or expect in place of the claim; "" if the claim holds

    @property
    def off_by(self) -> float | None:
        """Relative difference of the computed value from the claim; None if one is missing or the claim is 0."""
        if self.figure is None or self.computed is None or not self.figure:
            return None
        return self.computed / self.figure - 1


def judged(figure: float, computed: float) -> Verdict:
    """Return the verdict by relative difference: agree within 15%, partly within 50%, else disagree."""
    off = abs(computed / figure - 1)
    return Verdict.AGREE if off <= CLOSE else Verdict.PARTLY if off <= ROUGH else Verdict.DISAGREE
