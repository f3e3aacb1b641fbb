"""Which release of Slurm takes which key and word, as data, and a linter for Slurm's files. Pure."""

from __future__ import annotations

from clusterwright.config.slurm_keys.lint import Finding, lint
from clusterwright.config.slurm_keys.table import (
    OURS,
    RELEASES,
    WORD_LISTS,
    Span,
    known_keys,
    known_words,
    release,
)

__all__ = [
    "OURS", "RELEASES", "WORD_LISTS", "Finding", "Span", "known_keys", "known_words", "lint", "release",
]  # fmt: skip
