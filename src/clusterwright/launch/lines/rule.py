"""The rule for launch lines: an option contradicts the allocation if the allocation decides its value otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.onhost.adapters.launch_options import (
    ADDRESS,
    HOSTS,
    NODE_RANK,
    NODES,
    PLACES,
    RANKS,
    RANKS_PER_NODE,
    STEP_NODES,
)

_LOOPBACK = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)(:\d+)?")
_NUMBER_OR_RANGE = re.compile(r"(\d+)(?:[:-](\d+))?")


@dataclass(frozen=True, slots=True)
class Size:
    """The size of an allocation: nodes, and ranks on each."""

    nodes: int
    ranks: int


def numbers(text: str) -> tuple[int, int] | None:
    """Return least and most of `4`, `2:4` or `2-4`; None for anything else."""
    match = _NUMBER_OR_RANGE.fullmatch(text)
    return (int(match[1]), int(match[2] or match[1])) if match else None


def contradicts(meaning: str, value: str | None, size: Size) -> bool:
    """Return whether a literal value contradicts the allocation; None for an option without a value.

    A place (node rank, address, hosts) is the same text on every host and chosen before Slurm has chosen the hosts,
    so on several nodes it always does. A number does if the allocation has not as many; fewer ranks, and steps on
    fewer nodes, are possible.
    """
    if meaning == NODE_RANK:
        return size.nodes > 1 or value != "0"
    if meaning in (ADDRESS, HOSTS):
        is_loopback = value is None or _LOOPBACK.fullmatch(value) is not None
        return size.nodes > 1 or not is_loopback
    if value is None or meaning not in (NODES, STEP_NODES, RANKS_PER_NODE, RANKS):
        return False
    bounds = numbers(value)
    if bounds is None:
        return not (meaning == RANKS_PER_NODE and value in ("gpu", "cpu", "auto", "xpu"))
    least, most = bounds
    if meaning == NODES:
        return not least <= size.nodes <= most
    return most > allocated(meaning, size)


def allocated(meaning: str, size: Size) -> int:
    """Return what the allocation has for an option of this meaning: ranks, ranks per node, or else nodes."""
    if meaning == RANKS:
        return size.nodes * size.ranks
    return size.ranks if meaning == RANKS_PER_NODE else size.nodes


def replacement(meaning: str, size: Size) -> str | None:
    """Return the value in place of a contradicting one; None: the option goes, and the launcher reads a variable."""
    return None if meaning in PLACES else str(allocated(meaning, size))
