"""Collectives of a run by how its groups lie: `stride` GPUs apart, all such groups talking at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.collectives import Kind, domain_size, seconds
from clusterwright.plan.numbers import is_array, larger, pick, smaller

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Machine


def collective(kind: Kind, size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """Seconds; `size_bytes` as in `plan.collectives`: of a gather or scatter the whole."""
    if not is_array(ranks) and ranks == 1:  # nothing to exchange; arrays go the long way
        return 0.0
    domain = domain_size(machine)
    local_ranks = larger(smaller(ranks, domain / stride), 1)
    return seconds(kind, size_bytes, machine, ranks, local_ranks, smaller(stride, domain))


def gather(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """All-gather or reduce-scatter of `size_bytes`, counted whole."""
    return collective(Kind.ALL_GATHER, size_bytes, ranks, machine, stride)


def all_reduce(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """All-reduce."""
    return collective(Kind.ALL_REDUCE, size_bytes, ranks, machine, stride)


def all_to_all(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """Every GPU sends `size_bytes` in all, an even part to each."""
    return collective(Kind.ALL_TO_ALL, size_bytes, ranks, machine, stride)


def send(size_bytes: Real, machine: Machine, distance: Real, gpus: Real) -> Real:
    """Every GPU to one that lies `distance` further, out of `gpus`: the hop that takes longest.

    Where a chain leaves the NVLink domain, the GPUs on its edge share the NICs, and all others wait for them.
    """
    domain = domain_size(machine)
    inside = gpus <= domain
    sharing = pick(inside, domain / 2, smaller(distance, domain))
    return seconds(Kind.SEND_RECV, size_bytes, machine, 2, pick(inside, 2, 1), sharing)
