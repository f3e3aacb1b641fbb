"""In-memory checkpoints: copies of this rank's state in memory that outlives the rank.

Each rank copies its part into memory of its host's agent, which sends it to a peer host. All ranks vote whether the
copies of the last round have arrived. That set is then complete and stays unchanged while the next round uses
the other slot. So after the first round there is always a complete set.
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
from clusterwright.runtime.checkpoints.writer import SaveMoment, Unable, Writer
from clusterwright.runtime.events import Events
from clusterwright.runtime.group import Group
from clusterwright.runtime.progress import Progress

VARIABLE = "CLUSTERWRIGHT_COPY_EVERY"
# maximum share of the time that training waits for copies: at the cost of an undisturbed copy, and of all copies
BUDGET, MOST = 0.0025, 0.005
RECENT = 8  # copies; the cheapest of them counts as undisturbed


@dataclass
class Rhythm:
    """When to copy: every `steps` steps, or if None as often as the time budget allows by rank 0's clock.

    One copy slowed by a busy host delays the next ones only as far as the budget of all copies requires.
    """

    steps: int | None
    _next: float = field(default=0.0)
    _begun: float | None = field(default=None)
    _spent: float = field(default=0.0)
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    @staticmethod
    def parse(text: str) -> Rhythm | None:
        """Return the rhythm of in-memory copies for `auto` (without steps) or `steps:N`; None for `never`.

        Raises:
            ValueError: another text, or N is 0.
        """
        if text == "never":
            return None
        match = re.fullmatch(r"steps:(\d{1,9})", text)
        if text != "auto" and not (match and int(match[1])):
            raise ValueError(
                f"interval of in-memory checkpoints `{text}` is invalid; fix: write auto, steps:1 or never"
            )
        return Rhythm(int(match[1]) if match else None)

    def overdue(self, now: float) -> bool:
        """Return True if an in-memory copy is due at this time, under `auto`."""
        return self.steps is None and now >= self._next

    def due(self, step: int) -> bool:
        """Return True if an in-memory copy is due at this step, under `steps:N`."""
        return self.steps is not None and step % self.steps == 0

    def record(self, now: float, seconds: float) -> None:
        """Record the seconds that an in-memory copy has cost, and set the earliest time of the next."""
        self._begun = now - seconds if self._begun is None else self._begun
        self._spent += seconds
        self._recent.append(seconds)
        self._next = max(now + min(self._recent) / BUDGET, self._begun + self._spent / MOST)


# State of a rank's copy of the last round, in rising priority: the maximum over all ranks counts.
ARRIVED, VOID, WAIT, REFUSED = range(4)
NO_PEER = (1 << 64) - 1
# a rank that copies at each step waits this long for the copy before, then skips the step's copy
_TIMEOUT_S = 5.0
# at exit nothing else is left to do; the agent gives up a lost peer after 10 s
_LEAVING_S = 30.0
_POLL_INTERVAL_S = 0.0005
_LOG_INTERVAL_S = 1.0
# In CPU training, checksums and sending also take CPU time from it: 560 ms for 300 MB on both hosts together,
# for a stall of 36 ms (docs/log.md, 2026-11-22); half of it on each, over two cores or more.
_ON_CPU = 4

Part = Callable[[], Sequence[Chunk]]


class Replicas:
    """This rank's in-memory checkpoints. All ranks call the same methods at the same steps."""

    def __init__(
        self, group: Group, writer: Writer | Unable, rhythm: Rhythm, outputs: tuple[Progress, Events]
    ) -> None:
        self._group, self._writer, self._rhythm = group, writer, rhythm
        self._progress, self._log = outputs
        self._complete: SaveMoment | None = None
        self._newest: SaveMoment | None = None
        self._failed = self._over = self._capacity_requested = False
        self._patient = True  # after a wait that timed out, do not wait for that round again
        self._logged_at = 0.0
        self._unsaid = (0, 0.0)

    def resumed(self, step: int, from_memory: SaveMoment | None = None) -> None:
        """Continue in-memory copies after this step; the set it was read from stays until a newer is complete."""
        self._complete = from_memory
        self._writer.resumed(step)

    def vote_fields(self) -> dict[str, int]:
        """Return this rank's fields of the vote: whether a copy is overdue (by rank 0), and its last copy's state."""
        overdue = self._group.rank == 0 and self._rhythm.overdue(time.monotonic())
        return {"copy": int(overdue), "copies": REFUSED if self._over else self._last_round()}

    def due(self, step: int) -> bool:
        """Return True if this step needs a vote about in-memory copies: it is to be copied, or none was so far."""
        return not self._over and (self._newest is None or self._rhythm.due(step))

    def run_round(self, moment: SaveMoment, agreed: Mapping[str, int], part: Part) -> None:
        """At a step boundary, evaluate the last round of in-memory copies, and copy this step if due.

        Only if a slot is free; under `steps:N` it first waits up to 5 s for the last round.
        """
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

    def copy_before_exit(self, moment: SaveMoment, part: Part) -> bool:
        """Copy this step to memory before all ranks exit; return True if every rank's copy succeeded.

        Collective, may wait. False, without a copy, if copies are off or the last round is not over in time.
        """
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
        """Wait for an in-memory copy in progress and close the writer."""
        self._writer.close()

    def _last_round(self) -> int:
        """Return the state of the last round's copy on this rank: ARRIVED, VOID (none or failed), WAIT or REFUSED."""
        if self._writer.refused:
            return REFUSED
        if not self._writer.ready():
            return WAIT
        if self._newest is None or self._failed:
            return VOID
        return ARRIVED if self._progress.shipped in (self._newest.step, NO_PEER) else WAIT

    def _wait(self, timeout_s: float) -> int:
        """Wait for this rank's in-memory copy, at most `timeout_s`; return the largest state of all ranks' last rounds.

        Collective.
        """
        deadline = time.monotonic() + timeout_s
        while (last := self._last_round()) == WAIT and time.monotonic() < deadline:
            time.sleep(_POLL_INTERVAL_S)
        return self._largest(last)

    def _largest(self, value: int) -> int:
        vote = torch.tensor([value])
        dist.all_reduce(vote, dist.ReduceOp.MAX, group=self._group.control)
        return int(vote)

    def _make(self, moment: SaveMoment, chunks: Sequence[Chunk], begun: float) -> None:
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
        """Count an in-memory copy; write at most one event per second, with all copies since the last."""
        count, total = self._unsaid[0] + 1, self._unsaid[1] + seconds
        self._unsaid = (count, total)
        if time.monotonic() - self._logged_at >= _LOG_INTERVAL_S:
            self._log.record("copy", step=step, seconds=total, bytes=length, copies=count)
            self._logged_at, self._unsaid = time.monotonic(), (0, 0.0)

    def _disable(self) -> None:
        self._over = True
        self._log.log_line("in-memory checkpoints are off: a host has not enough free memory")
        self._log.record("copies_refused")


def begin(
    group: Group, generation: int, outputs: tuple[Progress, Events], environ: Mapping[str, str] = os.environ
) -> Replicas | None:
    """Return this rank's in-memory checkpoints; None if the launcher provides no memory or the job disables them.

    A rank that cannot open its agent's memory gets replicas that turn off copies on all ranks.
    """
    rhythm = Rhythm.parse(environ.get(VARIABLE, "auto"))
    if rhythm is None or "CLUSTERWRIGHT_COPY" not in environ:
        return None
    try:
        return Replicas(group, Writer(group, generation, environ), rhythm, outputs)
    except OSError as error:
        return Replicas(group, Unable(str(error)), rhythm, outputs)
