"""`sinfo`: the state of each node, or of each group of nodes, and of partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.diagnose.outputs.table import tables
from clusterwright.diagnose.outputs.value import Finding, Normal, Row
from clusterwright.i18n import N_, _
from clusterwright.slurm.states import is_node_state, parse_node_state

_TIME = re.compile(r"\d{4}-\d\d-\d\dT|Unknown")
_SUFFIXES = {
    "~": N_(
        "{nodes} ({state}): powered down to save power; Slurm starts them when a job needs them: normal."
    ),
    "#": N_("{nodes} ({state}): starting; jobs wait until slurmd responds: normal for some minutes."),
    "%": N_("{nodes} ({state}): powering down to save power: normal."),
    "!": N_("{nodes} ({state}): powers down when its job ends: normal."),
    "$": N_("{nodes} ({state}): in a maintenance reservation: normal until it ends."),
    "@": N_("{nodes} ({state}): reboots when its job ends: normal."),
    "^": N_("{nodes} ({state}): reboots: normal for some minutes."),
    "-": N_("{nodes} ({state}): planned for a job that waits for more nodes: normal."),
}
_SERVICE = N_("{nodes} ({state}): in service: normal.")


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield a finding for each partition or node that is out of service, else a normal value for the node.

    Nodes that several partitions have are judged once.
    """
    judged = set()
    for names in (("nodelist", "state"), ("hostnames", "state"), ("nodelist", "statecompact")):
        for table in tables(rows, names):
            for row, cells in table:
                nodes, state = cells.get(names[0], ""), cells.get(names[1], "").lower()
                yield from _partition(row, cells)
                if nodes and (nodes, state) not in judged and is_node_state(state):
                    judged.add((nodes, state))
                    yield from _node(row, nodes, state, _reason(cells))
    yield from _reasons(rows, judged)


def _partition(row: Row, cells: Mapping[str, str]) -> Iterator[Finding]:
    available = cells.get("avail", "").lower()
    if available in ("down", "inact", "inactive", "drain"):
        yield Finding(row, f"sinfo: partition {cells.get('partition', '').rstrip('*')} is {available}")


def _reason(cells: Mapping[str, str]) -> str:
    reason = cells.get("reason", "")
    return "" if reason in ("", "none") else reason


def _node(row: Row, nodes: str, text: str, reason: str) -> Iterator[Finding | Normal]:
    state = parse_node_state(text)
    if not state.is_known:
        return  # a word of another table
    subject = f"{nodes} ({text})" + (f", reason: {reason}" if reason else "")
    if state.is_invalid:
        yield Finding(row, f"sinfo: invalid {subject}")
    elif state.has_failed_to_start and not state.is_drained:
        yield Finding(row, f"sinfo: did not start {subject}")
    elif not state.is_responding or state.base == "UNKNOWN":
        yield Finding(row, f"sinfo: not responding {subject}")
    elif state.is_drained or (state.is_out_of_service and not state.has_failed):
        yield Finding(row, f"sinfo: drained {subject}")
    elif state.has_failed:
        yield Finding(row, f"sinfo: down {subject}")
    else:
        sentence = next((_(_SUFFIXES[suffix]) for suffix in text if suffix in _SUFFIXES), _(_SERVICE))
        yield Normal(row, sentence.format(nodes=nodes, state=text))


def _reasons(rows: Sequence[Row], judged: set[tuple[str, str]]) -> Iterator[Finding]:
    """Yield the nodes of `sinfo -R`, which lists only those with a reason and, without -l, no state."""
    judged_nodes = {nodes for nodes, _state in judged}
    for table in tables(rows, ("reason", "user", "timestamp", "nodelist")):
        for row, cells in table:
            nodes = cells.get("nodelist", "")
            if nodes and nodes not in judged_nodes and _TIME.match(cells.get("timestamp", "")):
                yield Finding(row, f"sinfo: drained {nodes} (reason set), reason: {cells['reason']}")
