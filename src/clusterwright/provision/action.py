"""A change that an apply makes, folded over the hosts that need it."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.config.field import Cost
from clusterwright.onhost.provision.change import Verb


@dataclass(frozen=True, slots=True)
class Action:
    """One change: the resource, what changes, the hosts (folded), the cost for running jobs, and how to undo it."""

    id: str
    summary: str
    verbs: tuple[Verb, ...]
    hosts: str
    cost: Cost
    undo: str = ""
    diff: str = ""
