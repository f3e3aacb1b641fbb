"""The agent's side of hang detection: it watches ranks, examines those that the supervisor names, and takes stacks.

Its methods return messages for the supervisor, whose side is inquiry.py.
"""

from __future__ import annotations

import os
from typing import Dict, List, Optional, Sequence

from clusterwright.onhost.supervisor.hang import progress, stacks
from clusterwright.onhost.supervisor.hang.examine import Examination, HangFinding
from clusterwright.onhost.supervisor.hang.progress import Pages
from clusterwright.onhost.supervisor.hang.watch import Watch, Watched
from clusterwright.onhost.supervisor.wire import Message

MODES = ("auto", "never")  # or seconds

# torch's flight recorder stores the last NCCL collectives and writes them at a collective's timeout. Newer releases
# accept new and old names; 2000 is the example of torch's documentation. Not tested on a GPU.
RECORDER = {
    "TORCH_FR_BUFFER_SIZE": "2000",
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
}
RECORDER_FILES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")


class Standstill:
    """Hang detection of one host's ranks, in its agent; `now` is the monotonic clock."""

    def __init__(self, ranks: int, hang: str = "auto") -> None:
        self.pages = Pages(ranks)
        self._watch = Watch(hang if hang in MODES else float(hang))
        self._ranks: Dict[int, Watched] = {}
        self._awaited: Optional[Message] = None
        self._log_dir, self._generation, self._first_rank = "", 0, 0
        self._examined: Dict[int, Examination] = {}
        self._findings: Dict[int, HangFinding] = {}

    def prepare(self, message: Message, log_dir: str, first_rank: int) -> None:
        """Stop to watch, and clear the progress pages for the ranks that the supervisor's start message orders.

        The first rank of this host is `first_rank`.
        """
        self.end()
        self._awaited, self._generation = message, int(message["start"])
        self._log_dir, self._first_rank = log_dir, first_rank
        for local_rank in range(len(self.pages)):
            self.pages[local_rank].clear()

    def variables(self, local_rank: int) -> Dict[str, str]:
        """Return a rank's variables for progress page, stacks and torch's flight recorder.

        Recorder variables that the user has set are left out.
        """
        files = dict.fromkeys(RECORDER_FILES, os.path.join(self._log_dir, "nccl-"))  # torch adds the rank
        recorder = {name: value for name, value in {**RECORDER, **files}.items() if name not in os.environ}
        stacks_path = stacks.path(self._log_dir, local_rank)
        return {**recorder, **dict([self.pages.variable(local_rank), (stacks.VARIABLE, stacks_path)])}

    def turn(self, pids: Sequence[int], now: float) -> List[Message]:
        """Start to watch the ranks once all have started (`pids`, by local rank), then poll their pages.

        Return messages for the supervisor.
        """
        if self._awaited and pids:
            timeout_factor = float(self._awaited.get("patience", 1))
            for index, pid in enumerate(pids):
                self._ranks[self._first_rank + index] = Watched(
                    self._first_rank + index, pid, self.pages[index]
                )
            self._watch.begin(list(self._ranks.values()), now, timeout_factor)
            self._awaited = None
        return self.poll(now)

    def end(self, *, with_stacks: bool = False) -> None:
        """Stop watching the ranks before they are killed; `with_stacks`: each first writes its stacks."""
        if with_stacks:
            stacks.dump_all({rank.pid: self._stacks_path(number) for number, rank in self._ranks.items()})
        self._ranks, self._examined, self._findings, self._awaited = {}, {}, {}, None
        self._watch.begin((), 0.0)

    def request_regroup(self) -> bool:
        """Request that the ranks leave with their state in memory, for a larger generation.

        Return False if one reports no steps and so cannot.
        """
        pages = [self.pages[local_rank] for local_rank in range(len(self.pages))]
        for page in pages:
            page[progress.REGROUP] = 1
        return all(page[progress.PHASE] != progress.STARTING for page in pages)

    def examine(self, message: Message) -> None:
        """Start the examination of the ranks that the supervisor names; nothing for another generation."""
        if message["examine"] != self._generation:
            return
        self._findings = {}
        self._examined = {
            number: Examination(self._ranks[number].pid, self._stacks_path(number))
            for number in message["ranks"]
            if number in self._ranks
        }

    def due(self, now: float) -> Optional[float]:
        """Return the seconds until the next poll of pages or examinations; None if nothing is watched."""
        times = [self._watch.due(now), *(examination.due(now) for examination in self._examined.values())]
        return min((seconds for seconds in times if seconds is not None), default=None)

    def poll(self, now: float) -> List[Message]:
        """Poll progress pages and examinations of ranks that are due; return messages for the supervisor, often none.

        These report a standstill, and the findings once all requested examinations are complete.
        """
        messages: List[Message] = []
        if self._watch.due(now) == 0:
            stall = self._watch.poll(now)
            messages += [{"stalled": self._generation, **stall._asdict()}] if stall else []
        for number, examination in list(self._examined.items()):
            finding = examination.poll(now) if examination.due(now) == 0 else None
            if finding:
                del self._examined[number]
                self._findings[number] = finding
        if self._findings and not self._examined:
            messages.append({"examined": self._generation, "ranks": self._finding_messages()})
            self._findings = {}
        return messages

    def _finding_messages(self) -> List[Message]:
        return [
            {
                "rank": number,
                "verdict": finding.verdict,
                "message": finding.message,
                "proven": finding.proven,
                "stacks": self._stacks_path(number),
            }
            for number, finding in self._findings.items()
        ]

    def _stacks_path(self, number: int) -> str:
        return stacks.path(self._log_dir, number - self._first_rank)
