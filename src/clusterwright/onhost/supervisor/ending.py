"""How a job of a run ends: the run is over, or another job goes on; each answers with the exit code."""

from __future__ import annotations

import time
from typing import Callable, Union

from clusterwright.onhost.supervisor import decide as d
from clusterwright.onhost.supervisor import room
from clusterwright.onhost.supervisor.folder import Events, Folder

EXIT = {d.FINISHED: 0, d.FAILED: 1, d.NO_PROGRESS: 4, d.CANCELLED: 143}
HANDED_OVER = 75  # sysexits.h EX_TEMPFAIL, for the stand-in alone; under Slurm a hand-over is a success


class Ending:
    """What is written and said at the end of one job; `began` is what went wrong first, or nothing."""

    def __init__(
        self,
        folder: Folder,
        place: Union[room.Slurm, room.Local],
        events: Events,
        say: Callable[[str], None],
        *,
        local: bool,
    ) -> None:
        self._folder, self._room, self._events, self._say, self._local = folder, place, events, say, local

    def hand_over(self, action: d.HandOver, generation: int, began: str) -> int:
        """A successor goes on; when Slurm refuses one, the run has failed."""
        job_id, said = self._room.hand_over(action.lost)
        if not job_id and self._room.stands_by:
            self._say(f"{action.why}; Slurm refused a successor: {said}; the job that stands by follows")
            return 1
        if not job_id:
            return self.end(d.FAILED, f"{action.why}; Slurm refused a successor: {said}", generation, began)
        self._say(f"successor {job_id}: {action.why}")
        self._events.write("successor", generation, job_id=job_id, exclude=list(action.lost), why=action.why)
        self._events.write("job_end", generation, outcome="handed-over", why=action.why)
        return HANDED_OVER if self._local else 0

    def end(self, outcome: str, why: str, generation: int, began: str) -> int:
        """The run is over: nobody follows."""
        self._room.cancel_standby()
        why = f"{why}; first: {began}" if began else why
        self._say(f"{outcome}: {why}")
        ended = {"outcome": outcome, "code": EXIT[outcome], "why": why, "time": time.time()}
        self._folder.write("ended.json", ended)
        self._events.write("job_end", generation, outcome=outcome, why=why)
        return EXIT[outcome]
