"""The supervisor's side of hang detection: it requests examinations and turns findings into events.

Across generations it stores one number: each verdict that may have been wrong doubles the limits.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Sequence

from clusterwright.onhost.supervisor.hang.inquiry import Hung, Inquiry
from clusterwright.onhost.supervisor.wire import Message


class Hangs:
    """Hang detection of one job; `now` is the monotonic clock."""

    def __init__(self, send: Callable[[str, Message], None]) -> None:
        self.timeout_factor = 1
        self.guilty = ""  # the host of the last verdict; empty if it names several
        self._send = send
        self._generation, self._log_dir = 0, ""
        self._inquiry = Inquiry(())

    def begin(self, generation: int, members: Sequence[str], log_dir: str) -> None:
        """Start hang detection for a generation on the hosts `members`; reports on earlier ones no longer count."""
        self._generation, self._log_dir = generation, log_dir
        self._inquiry = Inquiry(members)

    def end(self) -> None:
        """Stop hang detection of the generation; later reports about it are ignored."""
        self._generation = 0

    def receive(self, host: str, message: Message, now: float) -> List[Dict[str, Any]]:
        """Handle a host's report of stalled or examined ranks, and send orders for examinations that are due.

        Return the fields of a `rank_hung` event for each rank that has proved hung; mostly none.
        """
        if message.get("stalled") == self._generation:
            self._inquiry.receive(host, message["ranks"], message["repeat_s"], now)
            for target_host, ranks in self._inquiry.due(now).items():
                self._send(target_host, {"examine": self._generation, "ranks": ranks})
        if message.get("examined") == self._generation:
            return self._verdict(self._inquiry.examined(message["ranks"], now))
        return []

    def _verdict(self, hung: Sequence[Hung]) -> List[Dict[str, Any]]:
        if hung and not any(hung_rank.proven for hung_rank in hung):
            self.timeout_factor *= 2
        hosts = {hung_rank.host for hung_rank in hung}
        self.guilty = hosts.pop() if len(hosts) == 1 else ""
        return [self._event_fields(hung_rank) for hung_rank in hung]

    def _event_fields(self, hung: Hung) -> Dict[str, Any]:
        local: Mapping[str, Any] = {"rank": hung.rank, "on": hung.host, "local_rank": hung.local_rank}
        return {
            **local,
            "step": hung.step or None,
            "seconds": hung.seconds,
            "message": hung.message,
            "stacks": self._log_dir,
        }
