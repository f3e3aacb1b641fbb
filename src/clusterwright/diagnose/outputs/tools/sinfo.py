"""`sinfo`: the state of each node, or of each group of nodes, and of partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.diagnose.outputs.table import tables
from clusterwright.diagnose.outputs.value import Finding, Normal, Row
from clusterwright.i18n import N_, _

KEYWORDS = (b"nodelist", b"hostnames")
_STATE = re.compile(r"(?P<base>[a-z_+]+)(?P<flags>[*~#%!$@^-]*)\+?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT|Unknown")
_DRAIN = ("drain", "drained", "drng", "draining", "fail", "failing", "failg", "down+drain", "idle+drain")
_DOWN = ("down", "error", "boot_fail")
_UNKNOWN = ("unk", "unknown")
_INVALID = ("inval", "invalid", "invalid_reg")
_IN_SERVICE = (
    "idle alloc allocated mix mixed comp completing maint resv reserved plnd planned pow_dn pow_up powered_down"
    " powering_up powering_down npc perfctrs futr future boot reboot block blocked"
)
_BASES = {*_DRAIN, *_DOWN, *_UNKNOWN, *_INVALID, *_IN_SERVICE.split()}
_FLAGS = {
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
    """Judge the states of all tables; a node that several partitions have is judged once."""
    judged = set()
    for names in (("nodelist", "state"), ("hostnames", "state"), ("nodelist", "statecompact")):
        for table in tables(rows, names):
            for row, cells in table:
                nodes, state = cells.get(names[0], ""), cells.get(names[1], "").lower()
                yield from _partition(row, cells)
                if nodes and (nodes, state) not in judged and (match := _STATE.fullmatch(state)):
                    judged.add((nodes, state))
                    yield from _node(row, nodes, match, _reason(cells))
    yield from _reasons(rows, judged)


def _partition(row: Row, cells: Mapping[str, str]) -> Iterator[Finding]:
    available = cells.get("avail", "").lower()
    if available in ("down", "inact", "inactive", "drain"):
        yield Finding(row, f"sinfo: partition {cells.get('partition', '').rstrip('*')} is {available}")


def _reason(cells: Mapping[str, str]) -> str:
    reason = cells.get("reason", "")
    return "" if reason in ("", "none") else reason


def _node(row: Row, nodes: str, state: re.Match[str], reason: str) -> Iterator[Finding | Normal]:
    base, flags, text = state["base"], state["flags"], state[0]
    if base not in _BASES:
        return
    why = f", reason: {reason}" if reason else ""
    if base in _INVALID:
        yield Finding(row, f"sinfo: invalid {nodes} ({text}){why}")
    elif base in _DOWN and ("~" in flags or "#" in flags or "%" in flags):
        yield Finding(row, f"sinfo: did not start {nodes} ({text}){why}")
    elif "*" in flags or base in _UNKNOWN:
        yield Finding(row, f"sinfo: not responding {nodes} ({text}){why}")
    elif base in _DRAIN:
        yield Finding(row, f"sinfo: drained {nodes} ({text}){why}")
    elif base in _DOWN:
        yield Finding(row, f"sinfo: down {nodes} ({text}){why}")
    else:
        sentence = next((_(_FLAGS[flag]) for flag in flags if flag in _FLAGS), _(_SERVICE))
        yield Normal(row, sentence.format(nodes=nodes, state=text))


def _reasons(rows: Sequence[Row], judged: set[tuple[str, str]]) -> Iterator[Finding]:
    """Yield the nodes of `sinfo -R`, which lists only those with a reason and, without -l, no state."""
    judged_nodes = {nodes for nodes, _state in judged}
    for table in tables(rows, ("reason", "user", "timestamp", "nodelist")):
        for row, cells in table:
            nodes = cells.get("nodelist", "")
            if nodes and nodes not in judged_nodes and _TIME.match(cells.get("timestamp", "")):
                yield Finding(row, f"sinfo: drained {nodes} (reason set), reason: {cells['reason']}")
