"""Time of collectives in groups whose ranks are `stride` GPUs apart, while all such groups communicate at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.collectives import Collective, domain_size, seconds
from clusterwright.plan.numbers import is_array, larger, pick, smaller

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Machine


def collective(kind: Collective, size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """Return the seconds of one collective of ranks that are `stride` GPUs apart; 0 for one rank.

    `size_bytes` as in nccl-tests: of a gather or scatter the whole buffer.
    """
    if not is_array(ranks) and ranks == 1:  # nothing to exchange; arrays are handled by `seconds`
        return 0.0
    domain = domain_size(machine)
    local_ranks = larger(smaller(ranks, domain / stride), 1)
    return seconds(kind, size_bytes, machine, ranks, local_ranks, smaller(stride, domain))


def gather(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """Return the seconds of an all-gather or reduce-scatter of `size_bytes` in total; ranks are `stride` GPUs apart."""
    return collective(Collective.ALL_GATHER, size_bytes, ranks, machine, stride)


def all_reduce(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """Return the seconds of an all-reduce of `size_bytes`; ranks are `stride` GPUs apart."""
    return collective(Collective.ALL_REDUCE, size_bytes, ranks, machine, stride)


def all_to_all(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """Return seconds of an all-to-all in which every GPU sends `size_bytes` in total; ranks are `stride` GPUs apart."""
    return collective(Collective.ALL_TO_ALL, size_bytes, ranks, machine, stride)


def send(size_bytes: Real, machine: Machine, distance: Real, gpus: Real) -> Real:
    """Return the seconds of the slowest transfer when each of `gpus` GPUs sends to the one `distance` further.

    GPUs at the edge of an NVLink domain share the NICs, and all others wait for them.
    """
    domain = domain_size(machine)
    inside = gpus <= domain
    sharing = pick(inside, domain / 2, smaller(distance, domain))
    return seconds(Collective.SEND_RECV, size_bytes, machine, 2, pick(inside, 2, 1), sharing)
