"""What is to be done with a host: from what Slurm says of it and what was done before. Pure.

Slurm's state is the wish, whatever call of its programs was lost on the way, and slurmd's word alone says that a
host is up: the provider's word is never believed for that.
"""

from typing import Dict, List, NamedTuple

from clusterwright.onhost.power.records import Record
from clusterwright.onhost.power.settings import Settings
from clusterwright.onhost.power.slurm import Node

OURS = "wright: power: "  # how reasons of ours begin
TIMED_OUT = "ResumeTimeout reached"  # Slurm's own, where slurmd kept silent
OFF = frozenset({"POWERING_DOWN", "POWERED_DOWN", "POWER_DOWN"})
UP = frozenset({"POWERING_UP", "POWER_UP"})
AWAY = OFF | {"NOT_RESPONDING"}  # a host on its way up does not respond either, and counts as a spare
OUT = frozenset({"DOWN", "DRAIN", "FAIL", "MAINT", "RESERVED", "INVALID_REG"})
FAR = 3600.0  # the longest pause
LOOKS_S = 60.0  # between two looks at a host that is off


class Step(NamedTuple):
    """What to do: one of the methods of Act, or "" for nothing; `why` is for the log."""

    do: str
    why: str = ""


NOTHING = Step("")


def failed(node: Node) -> bool:
    """True for a host that Slurm gave up waiting for, or that we hold back until its next try."""
    out = "DOWN" in node.state and "DRAIN" not in node.state
    return out and node.reason.startswith((TIMED_OUT, OURS))


def decide(node: Node, record: Record, now: float, of: Settings) -> Step:
    """The next step with this host."""
    if failed(node):
        return _failed(record, now, of)
    if "POWERING_UP" in node.state:
        return _up(record, now)
    if node.state & OFF:
        return _down(node, record, now, of)
    if record.asked in ("on", "off", "failed"):
        return Step("note", "slurmd has joined" if record.asked == "on" else "")
    return NOTHING


def _up(record: Record, now: float) -> Step:
    """Begins from off, whatever the host was before; then asked again as long as the provider sees it off."""
    if record.asked != "on":
        return Step("boot")
    if now < record.next:
        return NOTHING
    return Step("hold" if record.hopeless else "again")


def _down(node: Node, record: Record, now: float, of: Settings) -> Step:
    """In order first, at once after half of the time; afterwards a look now and then, as people have hands."""
    if record.drained and "DRAIN" not in node.state:
        return Step("forgive", "somebody gave it back")
    if record.hopeless and not record.drained and record.asked == "on" and "POWER_DOWN" not in node.state:
        return Step("drain")
    if record.asked != "off":
        return Step("off")
    if now < record.next:
        return NOTHING
    if record.sure:
        return NOTHING if "DRAIN" in node.state else Step("look")
    late = now >= record.since + of.suspend_timeout / 2
    return Step("kill", "it does not end in order") if late else Step("look")


def _failed(record: Record, now: float, of: Settings) -> Step:
    """Off, a pause that grows, and another try; drained after the last, or where another would not help."""
    if record.asked != "failed":
        return Step("fail")
    if now < record.next:
        return NOTHING
    if record.hopeless or record.tries >= of.tries:
        return Step("drain")
    if not record.sure:
        return Step("kill", "so that the next try begins from off")
    return Step("give", "another try")


def pause(tries: int, of: Settings) -> float:
    """After so many boots that failed in a row."""
    return min(FAR, of.retry_after * 2.0 ** max(0, tries - 1))


def spares(nodes: Dict[str, Node], of: Settings) -> List[str]:
    """Hosts to wake, so that as many as wanted are idle or on their way."""
    mine = {host: nodes[host] for host in of.hosts if host in nodes}
    if any("UNKNOWN" in node.state for node in mine.values()):
        return []  # slurmctld has just started, and has not heard of all that are up
    idle = [host for host, node in mine.items() if "IDLE" in node.state and not node.state & OUT]
    asleep = [host for host in idle if "POWERED_DOWN" in mine[host].state and not mine[host].state & UP]
    ready = [host for host in idle if mine[host].state & UP or not mine[host].state & AWAY]
    return asleep[: max(0, of.spares - len(ready))]
