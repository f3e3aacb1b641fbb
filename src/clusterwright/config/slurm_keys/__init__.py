"""Which release of Slurm takes which key and word, as data, and a linter for Slurm's files. Pure."""

from __future__ import annotations

from clusterwright.config.slurm_keys.lint import Finding, lint
from clusterwright.config.slurm_keys.table import (
    OURS,
    RELEASES,
    LIST_VALUED_KEYS,
    Span,
    key_spans,
    value_spans,
    release,
)

__all__ = [
    "OURS", "RELEASES", "LIST_VALUED_KEYS", "Finding", "Span", "key_spans", "value_spans", "lint", "release",
]  # fmt: skip
