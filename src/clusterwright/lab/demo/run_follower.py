"""A training under way: its events followed and told, and when to strike whom. The choices are pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clusterwright.edge.clock import Clock
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab.demo import event_metrics
from clusterwright.lab.demo.events import Event, parse_events
from clusterwright.lab.demo.talk import Talk
from clusterwright.launch.events import LocalReader, RemoteReader, ended
from clusterwright.launch.run import Run

POLL_INTERVAL_S = 0.5  # a look is one ssh, 40 ms of processor time here
MIN_CHECKPOINTS = 2  # so that there is one to go back to even if the newest is torn
EDGE, LATE = (
    0.2,
    1.5,
)  # how far from its ends is inside; and when to strike at last, in parts of the step chosen
LIMIT_S = 900  # a training of 300 steps takes a minute; a machine that needs longer than this is not able


class RunFollower:
    """Follows one run; `events` holds all that it has said so far."""

    def __init__(self, run: Run, reader: RemoteReader | LocalReader, talk: Talk, clock: Clock) -> None:
        self.run, self._reader, self._talk, self._clock = run, reader, talk, clock
        self.events: tuple[Event, ...] = ()
        self.text = ""
        self._reported: set[tuple[float, str, str]] = set()

    def wait_until(self, condition: Callable[[Sequence[Event]], bool], goal: str) -> None:
        """Look until that is so.

        Raises:
            WrightError: the run ended before, or the limit passed.
        """
        limit = self._clock.monotonic() + LIMIT_S
        while True:
            over = ended(self.run, self._reader)
            self.poll()
            if condition(self.events):
                return
            if over or self._clock.monotonic() > limit:
                reason = (
                    _("it ended: {outcome}, {reason}", outcome=over.outcome, reason=over.reason)
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
        """Look until the run is over."""
        self.wait_until(
            lambda events: bool(event_metrics.finished(events)) and bool(ended(self.run, self._reader)),
            _("the last step"),
        )

    def poll(self) -> None:
        """Read the events once more, and tell the new ones."""
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


def narrate(event: Event, events: Sequence[Event]) -> str | None:
    """A line for people about an event; None for one that is not worth a line."""
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
            host=more.get("lost"),
            seconds=more.get("silence_s"),
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
    """When to strike: past the half of the training, and half-way between two checkpoints."""
    return steps // 2 // every * every + every // 2


def ripe(events: Sequence[Event], step: int, every: int) -> bool:
    """True from that step on, inside an epoch and an interval of checkpoints, with two checkpoints written.

    Much later it is true wherever that is: an epoch may be longer than the training.
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


def victim(events: Sequence[Event]) -> str | None:
    """The host to kill: one that trains, and not the one that the supervisor runs on."""
    batch = next((event.host for event in events if event.kind == "job_start"), None)
    starts = [event.more.get("hosts", ()) for event in events if event.kind == "generation_start"]
    return next((host for host in reversed(starts[-1]) if host != batch), None) if starts else None


def _listed(hosts: object) -> str:
    return hosts if isinstance(hosts, str) else ", ".join(hosts) if isinstance(hosts, list) else "?"
