"""One training of a campaign; its events are read again at each query."""

from __future__ import annotations

from clusterwright.edge.ssh import Remote
from clusterwright.lab.demo import event_metrics
from clusterwright.lab.demo.events import DemoEvent, parse_events
from clusterwright.launch.events import RemoteReader, ended
from clusterwright.launch.run import RunFolder

NOTICED = frozenset({"host_lost", "rank_exit", "rank_hung", "generation_end"})


class TrainingRun:
    """A training of the campaign and its events so far."""

    def __init__(self, run: RunFolder, remote: Remote, control: str) -> None:
        self.run, self._reader = run, RemoteReader(remote, control)
        self.events: tuple[DemoEvent, ...] = ()

    def step(self) -> int:
        """Read the run's events; return the highest step that the training has completed, 0 before the first."""
        self._read()
        return event_metrics.last_step_before(self.events, float("inf"))

    def over(self) -> bool:
        """Read the run's events; return True once the run has ended."""
        self._read()
        return ended(self.run, self._reader) is not None

    def outcome(self) -> str:
        """Return the run's outcome; `running` before its end."""
        end = ended(self.run, self._reader)
        return end.outcome if end else "running"

    def noticed(self, start: float) -> float | None:
        """Return the time at which the run first recorded a problem after `start`; None if it has not."""
        times = (event.time for event in self.events if event.kind in NOTICED and event.time > start)
        return next(times, None)

    def exactness(self, fault_time: float) -> dict[str, int]:
        """Return the numbers of `lost_steps` (repeated), `missing_steps` (never run) and `differing_steps`.

        The latter are repeated with another result. Lost steps are those from the fault on, the others of the whole
        run.
        """
        steps = event_metrics.completed_steps(self.events)
        resumes = [
            event
            for event in self.events
            if event.kind in ("resumed", "restored") and event.time > fault_time
        ]
        last_step = event_metrics.last_step_before(self.events, fault_time)
        return {
            "lost_steps": max(0, last_step - min(event.step for event in resumes)) if resumes else 0,
            "missing_steps": len(set(range(1, max(steps, default=0) + 1)) - steps.keys()),
            "differing_steps": len(event_metrics.repeats_differ(self.events)),
        }

    def _read(self) -> None:
        self.events, _ = parse_events([self._reader.text(self.run.folder, "events/*.jsonl")])
