"""The one word for change."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.config.field import Cost


@dataclass(frozen=True, slots=True)
class Action:
    """One change: what, why, on which hosts (folded), what it costs running jobs, and how to undo it."""

    what: str
    why: str
    hosts: str
    cost: Cost
    undo: str = ""
    diff: str = ""
