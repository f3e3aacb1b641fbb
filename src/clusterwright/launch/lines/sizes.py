"""The size that a launch line names itself, for a job whose nodes and GPUs are not given otherwise."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from clusterwright.launch.lines import tokens as t
from clusterwright.launch.lines.rewrite import commands
from clusterwright.launch.lines.rule import numbers
from clusterwright.onhost.adapters.launch_options import HOSTS, NODES, RANKS, RANKS_PER_NODE, STEP_NODES

_HOST_LIST = re.compile(r"[A-Za-z0-9.-]+(:\d+)?(,[A-Za-z0-9.-]+(:\d+)?)*")


def named_size(arguments: Sequence[str], nodes: int | None = None) -> dict[str, int]:
    """Return the fields `nodes` and `gpus_per_node` of a job, as far as the launch line has literal numbers.

    `nodes` is the number of nodes that is given otherwise.
    """
    lines = list(t.of_shell(arguments[0])) if len(arguments) == 1 else [t.of_arguments(arguments)]
    values = {
        option.meaning: option.value or ""
        for line in lines
        for launch, tokens, _outer in commands(line)
        for option in reversed(launch.options)
        if option.meaning and not any(token.expands for token in tokens[option.start : option.stop])
    }
    largest = {name: bounds[1] for name, value in values.items() if (bounds := numbers(value)) and bounds[1]}
    count = largest.get(NODES) or largest.get(STEP_NODES) or _hosts(values.get(HOSTS, ""))
    fields = {"nodes": count} if count else {}
    nodes = nodes or count or 1
    if ranks := largest.get(RANKS_PER_NODE):
        fields["gpus_per_node"] = ranks
    elif RANKS in largest:
        fields["gpus_per_node"] = math.ceil(largest[RANKS] / nodes)
    return fields


def _hosts(text: str) -> int:
    """Return the number of hosts in `node1:8,node2:8`; 0 for a file or anything else."""
    return len(text.split(",")) if _HOST_LIST.fullmatch(text) and ("," in text or ":" in text) else 0
