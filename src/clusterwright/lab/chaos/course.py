"""One training of a campaign, read again whenever it is asked about."""

from __future__ import annotations

from clusterwright.edge.ssh import Remote
from clusterwright.lab.demo import reckon
from clusterwright.lab.demo.events import Event, parse_events
from clusterwright.launch.events import There, ended
from clusterwright.launch.run import Run

NOTICED = frozenset({"host_lost", "rank_exit", "rank_hung", "generation_end"})


class Course:
    """A run and what it has said so far."""

    def __init__(self, run: Run, remote: Remote, control: str) -> None:
        self.run, self._there = run, There(remote, control)
        self.events: tuple[Event, ...] = ()

    def step(self) -> int:
        """The highest that is complete."""
        self._read()
        return reckon.last_step_before(self.events, float("inf"))

    def over(self) -> bool:
        """True once the run has ended, for good."""
        self._read()
        return ended(self.run, self._there) is not None

    def outcome(self) -> str:
        """How it ended; `running` where it has not."""
        end = ended(self.run, self._there)
        return end.outcome if end else "running"

    def noticed(self, since: float) -> float | None:
        """When the run itself first said that something is wrong."""
        found = (event.time for event in self.events if event.kind in NOTICED and event.time > since)
        return next(found, None)

    def exactness(self, struck: float) -> dict[str, int]:
        """Steps done again, never done, and done again with another result."""
        done = reckon.steps_done(self.events)
        again = [each for each in self.events if each.kind in ("resumed", "restored") and each.time > struck]
        before = reckon.last_step_before(self.events, struck)
        return {
            "lost": max(0, before - min(each.step for each in again)) if again else 0,
            "missing": len(set(range(1, max(done, default=0) + 1)) - done.keys()),
            "twice": len(reckon.repeats_differ(self.events)),
        }

    def _read(self) -> None:
        self.events, _ = parse_events([self._there.text(self.run.folder, "events/*.jsonl")])
