"""The keys and values of Slurm's files by release; `slurm_keys.lint` is a linter for these files."""

from __future__ import annotations

from clusterwright.config.slurm_keys.table import (
    LIST_VALUED_KEYS,
    OURS,
    RELEASES,
    Span,
    key_spans,
    release,
    value_spans,
)

__all__ = [
    "LIST_VALUED_KEYS",
    "OURS",
    "RELEASES",
    "Span",
    "key_spans",
    "release",
    "value_spans",
]  # fmt: skip
