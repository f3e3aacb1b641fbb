"""Decides the next power step of a host from Slurm's node state and the record of earlier steps. Pure.

Slurm's state is the desired state, even if a call of its ResumeProgram or SuspendProgram was lost. Only slurmd's
registration counts as up, never the provider's report.
"""

from typing import Dict, List, NamedTuple

from clusterwright.onhost.power.records import PowerRecord
from clusterwright.onhost.power.settings import PowerSettings
from clusterwright.slurm.drain_reasons import POWER
from clusterwright.slurm.nodes import Node

TIMED_OUT = "ResumeTimeout reached"  # Slurm's reason when slurmd did not register
MAX_PAUSE_S = 3600.0  # between boots
OFF_POLL_INTERVAL_S = 60.0  # between polls of a host that is off


class Step(NamedTuple):
    """The next step: the name of a method of PowerActions or "" for none; `reason` is for the log."""

    do: str
    reason: str = ""


NOTHING = Step("")


def failed(node: Node) -> bool:
    """Return True for a node that is DOWN because its boot failed: set by Slurm, or by us until the next try."""
    is_out = node.state.is_down and not node.state.is_drained
    return is_out and node.reason.startswith((TIMED_OUT, POWER))


def decide(node: Node, record: PowerRecord, now: float, settings: PowerSettings) -> Step:
    """Return the next power step for this host; `now` in epoch seconds, as the record's times."""
    if failed(node):
        return _failed(record, now, settings)
    if node.state.is_powering_up:
        return _up(record, now)
    if node.state.is_off:
        return _down(node, record, now, settings)
    if record.requested in ("on", "off", "failed"):
        return Step("note", "slurmd has registered" if record.requested == "on" else "")
    return NOTHING


def _up(record: PowerRecord, now: float) -> Step:
    """Return the step for a node that powers up: the boot, later retries, or the end of a boot that cannot succeed."""
    if record.requested != "on":
        return Step("boot")
    if now < record.next:
        return NOTHING
    return Step("force_power_down" if record.hopeless else "retry_boot")


def _down(node: Node, record: PowerRecord, now: float, settings: PowerSettings) -> Step:
    """Return the step for a node that is or goes off: shutdown, power cut after SuspendTimeout / 2, later checks.

    First `forgive` if an administrator resumed it, or `drain` after a boot that cannot succeed; nothing before the
    record's next time.
    """
    if record.drained and not node.state.is_drained:
        return Step("forgive", "resumed by an administrator")
    if (
        record.hopeless
        and not record.drained
        and record.requested == "on"
        and not node.state.is_power_down_requested
    ):
        return Step("drain")
    if record.requested != "off":
        return Step("off")
    if now < record.next:
        return NOTHING
    if record.sure:
        return NOTHING if node.state.is_drained else Step("check_off")
    late = now >= record.requested_at + settings.suspend_timeout / 2
    return Step("kill", "it did not shut down in time") if late else Step("check_off")


def _failed(record: PowerRecord, now: float, settings: PowerSettings) -> Step:
    """Return the step after a failed boot: power off, and after a growing pause another try; a drain after the last.

    Also a drain if a retry is useless.
    """
    if record.requested != "failed":
        return Step("fail")
    if now < record.next:
        return NOTHING
    if record.hopeless or record.failed_boots >= settings.max_attempts:
        return Step("drain")
    if not record.sure:
        return Step("kill", "off before the next try")
    return Step("resume", "next try")


def pause(failures: int, settings: PowerSettings) -> float:
    """Return the seconds to wait after `failures` failed boots in a row: doubled each time, up to MAX_PAUSE_S."""
    return min(MAX_PAUSE_S, settings.retry_after * 2.0 ** max(0, failures - 1))


def spares(nodes: Dict[str, Node], settings: PowerSettings) -> List[str]:
    """Return powered-down hosts to power up, so that `settings.spares` hosts are idle or powering up.

    None while a node's state is UNKNOWN.
    """
    states = {host: nodes[host].state for host in settings.hosts if host in nodes}
    if any(state.base == "UNKNOWN" for state in states.values()):
        return []  # slurmctld has just started and not all nodes have registered
    idle = [host for host, state in states.items() if state.base == "IDLE" and not state.is_withheld]
    powered_down = [host for host in idle if states[host].is_powered_down and not states[host].is_waking]
    # a host that is powering up does not respond either, and counts as a spare
    ready = [
        host
        for host in idle
        if states[host].is_waking or (states[host].is_responding and not states[host].is_off)
    ]
    return powered_down[: max(0, settings.spares - len(ready))]
