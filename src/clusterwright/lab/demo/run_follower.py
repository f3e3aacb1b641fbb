"""Follow a running training, log its events, and choose when and where to inject the fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clusterwright.edge.clock import Clock
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab.demo import event_metrics
from clusterwright.lab.demo.events import DemoEvent, parse_events
from clusterwright.lab.demo.talk import Talk
from clusterwright.launch.events import LocalReader, RemoteReader, ended
from clusterwright.launch.run import RunFolder

POLL_INTERVAL_S = 0.5  # a poll is one SSH command, 40 ms of CPU time here
MIN_CHECKPOINTS = 2  # so that there is one to resume from even if the newest is torn
EDGE = 0.2  # share of an epoch or interval, at each of its ends, without a fault
LATE = 1.5  # from this multiple of the chosen step on, the fault may be anywhere
LIMIT_S = 900  # seconds; a training of 300 steps takes a minute, a machine that needs longer is too slow


class RunFollower:
    """Follows one run; `events` has all of its events so far."""

    def __init__(self, run: RunFolder, reader: RemoteReader | LocalReader, talk: Talk, clock: Clock) -> None:
        self.run, self._reader, self._talk, self._clock = run, reader, talk, clock
        self.events: tuple[DemoEvent, ...] = ()
        self.text = ""
        self._reported: set[tuple[float, str, str]] = set()

    def wait_until(self, condition: Callable[[Sequence[DemoEvent]], bool], goal: str) -> None:
        """Poll the run's events until the condition on them is true; `goal` names it in the error.

        Raises:
            WrightError: The run ended before, or the timeout passed.
        """
        limit = self._clock.monotonic() + LIMIT_S
        while True:
            over = ended(self.run, self._reader)
            self.poll()
            if condition(self.events):
                return
            if over or self._clock.monotonic() > limit:
                reason = (
                    _("the run ended: {outcome}, {reason}", outcome=over.outcome, reason=over.reason)
                    if over
                    else _("{limit_s} s passed", limit_s=LIMIT_S)
                )
                raise WrightError.from_code(
                    "demo-training",
                    _(
                        "before {goal}: {reason}\n{last_lines}",
                        goal=goal,
                        reason=reason,
                        last_lines=self._last_lines(),
                    ),
                    _("read the lines above"),
                )
            self._clock.sleep(POLL_INTERVAL_S)

    def finish(self) -> None:
        """Poll the run, and log its events, until its training has finished and the run has ended.

        Raises:
            WrightError: it ended without that, or the timeout passed.
        """
        self.wait_until(
            lambda events: bool(event_metrics.finished(events)) and bool(ended(self.run, self._reader)),
            _("the last step"),
        )

    def poll(self) -> None:
        """Read the run's events again, and log the new ones."""
        self.text = self._reader.text(self.run.folder, "events/*.jsonl")
        self.events, _ = parse_events([self.text])
        for event in self.events:
            key = (event.time, event.kind, event.host)
            if key not in self._reported:
                self._reported.add(key)
                self._talk.log(narrate(event, self.events) or "")

    def _last_lines(self) -> str:
        texts = [
            self._reader.text(self.run.folder, pattern)
            for pattern in ("slurm-*.out", "job.out", "logs/*/*/*/*/*/stderr.log")
        ]
        return "\n".join("\n".join(text.splitlines()[-15:]) for text in texts if text)


def narrate(event: DemoEvent, events: Sequence[DemoEvent]) -> str | None:
    """Return a log line for an event; None for one that is not logged."""
    more = event.more
    if event.kind == "generation_start":
        return _(
            "generation {generation} trains on {hosts}",
            generation=event.generation,
            hosts=_listed(more.get("hosts")),
        )
    if event.kind == "host_lost":
        return _(
            "{host} is lost: no heartbeat for {seconds} s",
            host=more.get("lost_host"),
            seconds=more.get("heartbeat_age_s"),
        )
    if event.kind == "resumed" and event.rank == 0:
        return _("the ranks resume from step {step}", step=event.step)
    if event.kind == "checkpoint" and event.rank in (0, None):
        step = event_metrics.completed_steps(events).get(event.step)
        return (
            _("step {step} saved, loss {loss:.3f}", step=event.step, loss=step.loss)
            if step
            else _("step {step} saved", step=event.step)
        )
    if event.kind == "finished":
        return _("finished after step {step}, loss {loss:.4f}", step=event.step, loss=more.get("loss"))
    return None


def fault_step(steps: int, every: int) -> int:
    """Return the step for the fault: past half of the training, half-way between two checkpoints."""
    return steps // 2 // every * every + every // 2


def is_time_for_fault(events: Sequence[DemoEvent], step: int, every: int) -> bool:
    """Return True from that step on, with two checkpoints, if not near the ends of an epoch or interval.

    The interval is that of checkpoints. Long after the step it is always true, as an epoch may be longer than the
    training.
    """
    steps = event_metrics.completed_steps(events)
    last = max(steps, default=0)
    if last < step or len(event_metrics.checkpoints(events)) < MIN_CHECKPOINTS:
        return False
    epoch, interval = event_metrics.place_in_epoch(steps, last), last % every / every
    inside = (epoch is None or _inside(epoch[1])) and (every <= 1 or _inside(interval))
    return inside or last >= LATE * step


def _inside(part: float) -> bool:
    return EDGE <= part <= 1 - EDGE


def victim(events: Sequence[DemoEvent]) -> str | None:
    """Return the host to kill: a host of the newest generation, not the supervisor's; None if there is none."""
    batch = next((event.host for event in events if event.kind == "job_start"), None)
    starts = [event.more.get("hosts", ()) for event in events if event.kind == "generation_start"]
    return next((host for host in reversed(starts[-1]) if host != batch), None) if starts else None


def _listed(hosts: object) -> str:
    return hosts if isinstance(hosts, str) else ", ".join(hosts) if isinstance(hosts, list) else "?"
