"""Collective operations and the bytes and steps that each needs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.plan.numbers import larger

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real


class Collective(StrEnum):
    """Collective operations, named as in nccl-tests."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"  # size: the whole gathered buffer
    REDUCE_SCATTER = "reduce_scatter"  # size: the whole buffer
    BROADCAST = "broadcast"
    ALL_TO_ALL = "all_to_all"  # size: all that one rank sends, the part for itself included
    SEND_RECV = "send_recv"


def bus_factor(kind: Collective, ranks: Real) -> Real:
    """Return bus over algorithm bandwidth (nccl-tests): 2 (n - 1) / n for all-reduce, 1 for broadcast and send-receive.

    (n - 1) / n for every other kind.
    """
    peer_share = (ranks - 1) / larger(ranks, 1)
    if kind is Collective.ALL_REDUCE:
        return 2 * peer_share
    if kind in {Collective.BROADCAST, Collective.SEND_RECV}:
        return 1.0 + 0 * peer_share
    return peer_share


def ring_steps(kind: Collective, ranks: Real) -> Real:
    """Return the number of sequential steps of a ring on `ranks` ranks: 2 (n - 1) for all-reduce, else n - 1."""
    if kind is Collective.ALL_REDUCE:
        return 2 * (ranks - 1)
    return ranks - 1
