"""The first failure of a generation, and one line that describes it. Pure: over the events of the generation."""

from __future__ import annotations

import signal
from typing import Any, Iterable, List, Mapping, Optional, Tuple

from clusterwright.onhost.supervisor.host.generation import EXIT
from clusterwright.onhost.supervisor.root_cause.error_lines import is_consequence, shorten

Event = Mapping[str, Any]

# A killed rank breaks the others' connections, and their errors may be recorded earlier: clocks of hosts differ by
# milliseconds, and the kernel takes about a second to reap a killed process with much memory.
CAUSE_WINDOW_S = 2.0
SHELL = 128  # a shell adds this to a signal's number (bash(1), "Simple Commands")


def find_first_failure(events: Iterable[Event]) -> Optional[Event]:
    """Return the event of the first failure, None without: a lost host, else a rank that hung or exited.

    An exit that another failure explains counts only if there is no other event.
    """
    events_by_time = sorted(events, key=lambda event: float(event.get("time", 0)))
    host_loss = next((event for event in events_by_time if event.get("event") == "host_lost"), None)
    if host_loss:
        return host_loss
    exits = [
        event for event in events_by_time if event.get("event") == "rank_exit" and event.get("code") != 0
    ]
    causes = [event for event in exits if not _follows(event)]
    hung = next((event for event in events_by_time if event.get("event") == "rank_hung"), None)
    if hung and not any(event["time"] <= hung["time"] for event in causes):
        return hung
    return _earliest(causes) or hung or _earliest(exits)


def line(events: Iterable[Event], ranks: int = 0) -> str:
    """Return the first failure as text: `rank 3 (gpu-2, local 1) was killed by SIGKILL at step 41`; "" without one.

    `ranks` is the number of ranks per host.
    """
    event = find_first_failure(events)
    if event is None:
        return ""
    if event["event"] == "host_lost":
        unresponsive_text = (
            f", no message for {event['heartbeat_age_s']:g} s" if event.get("heartbeat_age_s") else ""
        )
        reason = f": {event['reason']}" if event.get("reason") and not unresponsive_text else ""
        return f"host {event.get('lost_host', '?')} was lost{unresponsive_text}{reason}"
    return f"{describe_rank(event, ranks)} {describe_failure(event)}{_step_text(event)}"


def describe(fault: Event) -> str:
    """Return a rank's failure as one clause: the rank and what happened to it."""
    return f"{describe_rank(fault)} {describe_failure(fault)}"


def describe_rank(event: Event, ranks: int = 0) -> str:
    """Return the event's rank as text, with host and local rank if known: `rank 9 (node2, local 1)`.

    `ranks` is the number per host, by which a missing local rank is computed; 0: unknown.
    """
    rank, host = event.get("rank"), event.get("on", event.get("host"))
    local = event.get("local_rank", rank % ranks if ranks and isinstance(rank, int) else None)
    location = [str(host)] if host else []
    location += [f"local {local}"] if local is not None else []
    return f"rank {'?' if rank is None else rank}" + (f" ({', '.join(location)})" if location else "")


def describe_failure(event: Event) -> str:
    """Return what happened to the rank of the event as text: killed, exited, raised or hung."""
    if event.get("event") == "rank_hung":
        return _hung(event)
    number, message = signal_of(event), str(event.get("message") or "")
    if number:
        detail = f" ({shorten(message)})" if message else ""
        return (
            f"{'was killed by' if number in _EXTERNAL_SIGNALS else 'died of'} {signal_name(number)}{detail}"
        )
    if message and event.get("cause") != EXIT:
        return f"raised {shorten(message)}"
    return shorten(message) or f"exited with code {event.get('code')}"


def signal_of(event: Event) -> int:
    """Return the number of the signal that ended the rank, also from its exit code; 0 for none.

    The code is negative, or above 128 from a shell.
    """
    code = int(event.get("code") or 0)
    if event.get("signal"):
        return int(event["signal"])
    return -code if code < 0 else code - SHELL if SHELL < code <= SHELL + signal.SIGRTMAX else 0


def signal_name(number: int) -> str:
    """Return the name of a signal, such as SIGKILL; `signal NUMBER` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_EXTERNAL_SIGNALS = frozenset(
    {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}
)


def _hung(event: Event) -> str:
    """Return a hang as text: its duration, the finding and the file of stacks."""
    seconds = f"no progress for {event['seconds']:.1f} s" if "seconds" in event else "no progress"
    message = f": {shorten(str(event['message']))}" if event.get("message") else ""
    stacks = f" (stacks: {event['stacks']})" if event.get("stacks") else ""
    return f"hung, {seconds}{message}{stacks}"


def _step_text(event: Event) -> str:
    return f" at step {event['step']}" if event.get("step") is not None else ""


def _follows(event: Event) -> bool:
    """Return True if another failure explains this exit: a consequence, or a launcher's SIGTERM."""
    return signal_of(event) == signal.SIGTERM or is_consequence(str(event.get("message") or ""))


def _earliest(exits: List[Event]) -> Optional[Event]:
    """Return the first exit, None without; of exits within CAUSE_WINDOW_S of it, one by a signal counts first.

    No exception of another rank can cause a signal.
    """
    if not exits:
        return None
    early_exits = [event for event in exits if event["time"] <= exits[0]["time"] + CAUSE_WINDOW_S]

    def order(event: Event) -> Tuple[bool, float]:
        return signal_of(event) == 0, float(event["time"])

    return min(early_exits, key=order)
