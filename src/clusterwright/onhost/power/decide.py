"""What is to be done with a host: from what Slurm says of it and what was done before. Pure.

Slurm's state is the wish, whatever call of its programs was lost on the way, and slurmd's word alone says that a
host is up: the provider's word is never believed for that.
"""

from typing import Dict, List, NamedTuple

from clusterwright.onhost.power.records import Record
from clusterwright.onhost.power.settings import Settings
from clusterwright.slurm.drain_reasons import POWER
from clusterwright.slurm.nodes import Node

TIMED_OUT = "ResumeTimeout reached"  # Slurm's own, where slurmd kept silent
MAX_PAUSE_S = 3600.0  # the longest pause
OFF_POLL_INTERVAL_S = 60.0  # between two looks at a host that is off


class Step(NamedTuple):
    """What to do: one of the methods of Act, or "" for nothing; `why` is for the log."""

    do: str
    why: str = ""


NOTHING = Step("")


def failed(node: Node) -> bool:
    """True for a host that Slurm gave up waiting for, or that we hold back until its next try."""
    is_out = node.state.is_down and not node.state.is_drained
    return is_out and node.reason.startswith((TIMED_OUT, POWER))


def decide(node: Node, record: Record, now: float, settings: Settings) -> Step:
    """The next step with this host."""
    if failed(node):
        return _failed(record, now, settings)
    if node.state.is_powering_up:
        return _up(record, now)
    if node.state.is_off:
        return _down(node, record, now, settings)
    if record.asked in ("on", "off", "failed"):
        return Step("note", "slurmd has joined" if record.asked == "on" else "")
    return NOTHING


def _up(record: Record, now: float) -> Step:
    """Begins from off, whatever the host was before; then asked again as long as the provider sees it off."""
    if record.asked != "on":
        return Step("boot")
    if now < record.next:
        return NOTHING
    return Step("force_power_down" if record.hopeless else "retry_boot")


def _down(node: Node, record: Record, now: float, settings: Settings) -> Step:
    """In order first, at once after half of the time; afterwards a look now and then, as people have hands."""
    if record.drained and not node.state.is_drained:
        return Step("forgive", "somebody gave it back")
    if (
        record.hopeless
        and not record.drained
        and record.asked == "on"
        and not node.state.is_power_down_requested
    ):
        return Step("drain")
    if record.asked != "off":
        return Step("off")
    if now < record.next:
        return NOTHING
    if record.sure:
        return NOTHING if node.state.is_drained else Step("check_off")
    late = now >= record.since + settings.suspend_timeout / 2
    return Step("kill", "it does not end in order") if late else Step("check_off")


def _failed(record: Record, now: float, settings: Settings) -> Step:
    """Off, a pause that grows, and another try; drained after the last, or where another would not help."""
    if record.asked != "failed":
        return Step("fail")
    if now < record.next:
        return NOTHING
    if record.hopeless or record.failed_boots >= settings.max_attempts:
        return Step("drain")
    if not record.sure:
        return Step("kill", "so that the next try begins from off")
    return Step("resume", "another try")


def pause(failures: int, settings: Settings) -> float:
    """After so many boots that failed in a row."""
    return min(MAX_PAUSE_S, settings.retry_after * 2.0 ** max(0, failures - 1))


def spares(nodes: Dict[str, Node], settings: Settings) -> List[str]:
    """Hosts to wake, so that as many as wanted are idle or on their way."""
    states = {host: nodes[host].state for host in settings.hosts if host in nodes}
    if any(state.base == "UNKNOWN" for state in states.values()):
        return []  # slurmctld has just started, and has not heard of all that are up
    idle = [host for host, state in states.items() if state.base == "IDLE" and not state.is_withheld]
    powered_down = [host for host in idle if states[host].is_powered_down and not states[host].is_waking]
    # a host on its way up does not respond either, and counts as a spare
    ready = [
        host
        for host in idle
        if states[host].is_waking or (states[host].is_responding and not states[host].is_off)
    ]
    return powered_down[: max(0, settings.spares - len(ready))]
