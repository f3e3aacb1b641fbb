"""The one word for change."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.config.field import Cost
from clusterwright.onhost.provision.change import Verb


@dataclass(frozen=True, slots=True)
class Action:
    """One change: of which resource, what it does, on which hosts (folded), its cost, and how to undo it."""

    id: str
    what: str
    verbs: tuple[Verb, ...]
    hosts: str
    cost: Cost
    undo: str = ""
    diff: str = ""
