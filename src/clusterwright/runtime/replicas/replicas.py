"""The state of this rank after some steps, copied into memory that outlives the rank.

Each rank copies its part into memory of its host's agent, which brings it to the next host. All ranks vote whether
the copies of the last round have arrived. The set of them is then whole, and stays untouched while the next round is
made in the other slot. So at any moment there is a whole set, or there has been none yet.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.checkpoints.writer import Moment, Unable, Writer
from clusterwright.runtime.events import Events
from clusterwright.runtime.group import Group
from clusterwright.runtime.progress import Progress

VARIABLE = "CLUSTERWRIGHT_COPY_EVERY"
# of the time, for what training waits for: of a copy as it costs when nothing disturbs it, and of all copies together
BUDGET, MOST = 0.0025, 0.005
RECENT = 8  # copies, of which the cheapest says what one costs when nothing disturbs it


@dataclass
class Rhythm:
    """With `steps` at each N steps; without, as often as the budget allows, as the clock of rank 0 sees it.

    A copy that took long because the machine was busy makes the next ones no rarer than all of them together must be.
    """

    steps: int | None
    _next: float = field(default=0.0)
    _begun: float | None = field(default=None)
    _spent: float = field(default=0.0)
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    @staticmethod
    def parse(text: str) -> Rhythm | None:
        """From the launcher's word; None for never."""
        if text == "never":
            return None
        match = re.fullmatch(r"steps:(\d{1,9})", text)
        if text != "auto" and not (match and int(match[1])):
            raise ValueError(f"copies in memory `{text}`: write auto, steps:1 or never")
        return Rhythm(int(match[1]) if match else None)

    def overdue(self, now: float) -> bool:
        """Whether this rank's clock asks for a copy."""
        return self.steps is None and now >= self._next

    def due(self, step: int) -> bool:
        """Whether this step asks for a copy."""
        return self.steps is not None and step % self.steps == 0

    def record(self, now: float, seconds: float) -> None:
        """A copy has cost so much: until the next one that becomes a small part of the time."""
        self._begun = now - seconds if self._begun is None else self._begun
        self._spent += seconds
        self._recent.append(seconds)
        self._next = max(now + min(self._recent) / BUDGET, self._begun + self._spent / MOST)


# What a rank says of its copy of the last round; the largest of all ranks' holds.
ARRIVED, VOID, WAIT, REFUSED = range(4)
NO_PEER = (1 << 64) - 1
# a rank that copies at each step waits for the copy before; after so long the step goes without
_TIMEOUT_S = 5.0
# on the way out nothing else is to be done; a neighbour that is gone is given up after 10 s
_LEAVING_S = 30.0
_POLL_INTERVAL_S = 0.0005
_LOG_INTERVAL_S = 1.0
# Where training computes on the CPU, sums and sending take their time from it too: 560 ms of CPU time for 300 MB,
# of both hosts together and for a stall of 36 (docs/log.md, 2026-11-22); half of it on each, over two cores or more.
_ON_CPU = 4

Part = Callable[[], Sequence[Chunk]]


class Replicas:
    """All ranks call the same things at the same steps."""

    def __init__(
        self, group: Group, writer: Writer | Unable, rhythm: Rhythm, outputs: tuple[Progress, Events]
    ) -> None:
        self._group, self._writer, self._rhythm = group, writer, rhythm
        self._progress, self._log = outputs
        self._complete: Moment | None = None
        self._newest: Moment | None = None
        self._failed = self._over = self._capacity_requested = False
        self._patient = True  # a round that was waited for in vain is not waited for again
        self._logged_at = 0.0
        self._unsaid = (0, 0.0)

    def resumed(self, step: int, from_memory: Moment | None = None) -> None:
        """Training goes on after this step; the copies that it was read from stay until there is a newer whole set."""
        self._complete = from_memory
        self._writer.resumed(step)

    def vote_fields(self) -> dict[str, int]:
        """This rank's words in the vote."""
        overdue = self._group.rank == 0 and self._rhythm.overdue(time.monotonic())
        return {"copy": int(overdue), "copies": REFUSED if self._over else self._last_round()}

    def due(self, step: int) -> bool:
        """Whether all ranks have to know in this step how copies stand: it is to be copied, or no step has been."""
        return not self._over and (self._newest is None or self._rhythm.due(step))

    def run_round(self, moment: Moment, agreed: Mapping[str, int], part: Part) -> None:
        """Between two steps: count the last round, and make the next when it is time and there is room for it."""
        if self._over:
            return
        begun = time.monotonic()
        last = agreed.get("copies", WAIT)
        if not self._capacity_requested:
            self._capacity_requested = True
            self._writer.request_capacity(part())
        due = bool(agreed.get("copy")) or self._rhythm.due(moment.step)
        if last == WAIT and due and self._patient and self._rhythm.steps:
            last = self._wait(_TIMEOUT_S)
            self._patient = last != WAIT
        if last == REFUSED:
            self._disable()
        if last == ARRIVED:
            self._complete, self._patient = self._newest, True
        if due and last in (ARRIVED, VOID):
            self._make(moment, part(), begun)

    def copy_before_exit(self, moment: Moment, part: Part) -> bool:
        """Copy this step before all ranks leave, whatever that costs; False, on all, when one of them cannot."""
        if self._over or not self._capacity_requested:
            return False
        begun, last = time.monotonic(), self._wait(_LEAVING_S)
        if last == ARRIVED:
            self._complete = self._newest
        if last not in (ARRIVED, VOID):
            return False
        self._make(moment, part(), begun)
        self._writer.settle()
        return self._largest(int(self._failed)) == 0

    def close(self) -> None:
        """The last copy is complete, or none was made."""
        self._writer.close()

    def _last_round(self) -> int:
        """How the copy of the last round stands on this rank."""
        if self._writer.refused:
            return REFUSED
        if not self._writer.ready():
            return WAIT
        if self._newest is None or self._failed:
            return VOID
        return ARRIVED if self._progress.shipped in (self._newest.step, NO_PEER) else WAIT

    def _wait(self, timeout_s: float) -> int:
        """How the last round stands on all ranks when this one knows its own, or has waited long enough."""
        deadline = time.monotonic() + timeout_s
        while (last := self._last_round()) == WAIT and time.monotonic() < deadline:
            time.sleep(_POLL_INTERVAL_S)
        return self._largest(last)

    def _largest(self, value: int) -> int:
        vote = torch.tensor([value])
        dist.all_reduce(vote, dist.ReduceOp.MAX, group=self._group.control)
        return int(vote)

    def _make(self, moment: Moment, chunks: Sequence[Chunk], begun: float) -> None:
        self._log.flush()
        with self._progress.paused():
            length = self._writer.copy(moment.step, chunks, self._complete)
        now = time.monotonic()
        self._newest, self._failed = moment, not length
        self._progress.copied(moment.step)
        cpu = self._group.device.type == "cpu"
        self._rhythm.record(now, (now - begun) * (_ON_CPU if cpu else 1))
        self._record_copy(moment.step, now - begun, length)

    def _record_copy(self, step: int, seconds: float, length: int) -> None:
        """At most one event a second; its seconds are those of all copies since the last one."""
        count, total = self._unsaid[0] + 1, self._unsaid[1] + seconds
        self._unsaid = (count, total)
        if time.monotonic() - self._logged_at >= _LOG_INTERVAL_S:
            self._log.record("copy", step=step, seconds=total, bytes=length, copies=count)
            self._logged_at, self._unsaid = time.monotonic(), (0, 0.0)

    def _disable(self) -> None:
        self._over = True
        self._log.log_line("no copies in memory: on some host there is no room for them")
        self._log.record("copies_refused")


def begin(
    group: Group, generation: int, outputs: tuple[Progress, Events], environ: Mapping[str, str] = os.environ
) -> Replicas | None:
    """None when the launcher offers no memory, or the job wants no copies."""
    rhythm = Rhythm.parse(environ.get(VARIABLE, "auto"))
    if rhythm is None or "CLUSTERWRIGHT_COPY" not in environ:
        return None
    try:
        return Replicas(group, Writer(group, generation, environ), rhythm, outputs)
    except OSError as error:
        return Replicas(group, Unable(str(error)), rhythm, outputs)
