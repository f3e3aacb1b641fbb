"""Confidence from weights, as measured by `bench/why.py fit`."""

from __future__ import annotations

from itertools import pairwise

OF_CASCADES = 0.4  # maximum confidence of a consequence of another failure

# Weight, and the share of first answers with about that weight whose class was right: `bench/why.py fit` on
# tests/diagnose/unseen, 2026-11-23, 164 failures. Tables of four fifths of them on the other fifth: Brier score 0.079.
CALIBRATION: tuple[tuple[float, float], ...] = (
    (0.0, 0.0), (0.6, 0.77), (0.77, 0.85), (0.82, 0.93), (0.86, 0.96), (0.92, 0.98), (1.0, 0.98),
)  # fmt: skip


def confidence(weight: float, best: float, against: float, role: str) -> float:
    """Return the share, 0 to 1, of measured answers with about this weight that were right.

    `best` is the greatest weight, `against` the sum of those of other classes. At most OF_CASCADES if the role is not
    `root`.
    """
    sure = expected(raw(weight, best, against))
    return round(sure if role == "root" else min(sure, OF_CASCADES), 3)


def raw(weight: float, best: float, against: float) -> float:
    """Return the weight, reduced by `against`, the weights of other classes; below `best` it is at most 0.6 of that."""
    share = weight / (weight + against) if weight else 0.0
    sure = weight * (0.6 + 0.4 * share)
    return sure if weight >= best else min(sure, best * 0.6)


def expected(sure: float) -> float:
    """Return the share in the calibration table for a weight, interpolated linearly."""
    for (low, share), (high, more) in pairwise(CALIBRATION):
        if sure <= high:
            return share + (more - share) * (sure - low) / (high - low)
    return CALIBRATION[-1][1]
