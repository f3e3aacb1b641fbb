"""Run the checks of the occasion `burn-in` repeatedly while hosts are under load, and once afterwards.

A check that is bad only under load fails when it failed twice; in a lab it is a warning, because there the load of
all hosts is on one machine and delays answers that are on time on real hosts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from clusterwright.check.bench.burn_in.burned import BENCH
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.verdict import Status, Verdict
from clusterwright.errors import WrightError
from clusterwright.i18n import _

EVERY_S = 60.0
BAD = (Status.WARN, Status.FAIL)
MIN_FAILURES = 2

Key = tuple[str, str, str]


@dataclass(slots=True)
class Sampled:
    """The bad verdicts of each check under load, and all verdicts afterwards."""

    hosts: tuple[str, ...]
    lab: bool
    samples: int = 0
    bad: dict[Key, list[Verdict]] = field(default_factory=dict)
    final_verdicts: tuple[Verdict, ...] = ()

    def add(self, sample: list[Verdict]) -> None:
        """Count one sample of the checks taken under load, and store its bad verdicts by subject, check and part."""
        self.samples += 1
        for verdict in sample:
            if verdict.status in BAD:
                self.bad.setdefault((verdict.subject, verdict.check, verdict.part), []).append(verdict)

    def verdicts(self) -> Iterator[Verdict]:
        """Yield all final verdicts but the skipped, then those bad only under load; each names its check in `part`."""
        bad = {
            (verdict.subject, verdict.check, verdict.part)
            for verdict in self.final_verdicts
            if verdict.status in BAD
        }
        for verdict in self.final_verdicts:
            if verdict.status is not Status.SKIPPED:
                yield _named(verdict)
        for key, several in self.bad.items():
            if key not in bad:
                yield self._under_load(several)

    def _under_load(self, several: list[Verdict]) -> Verdict:
        fails = [verdict for verdict in several if verdict.status is Status.FAIL]
        status = Status.FAIL if len(fails) >= MIN_FAILURES and not self.lab else Status.WARN
        last = _named((fails or several)[-1])
        observed = _(
            "under load, in {count} of {samples} samples: {observed}",
            count=len(several),
            samples=self.samples,
            observed=last.observed,
        )
        return replace(last, status=status, observed=observed)


@contextmanager
def sampling(site: BenchSite) -> Iterator[Sampled]:
    """Yield a record to which a thread adds samples of the checks while the block runs, then set its final verdicts.

    If the block raises, the thread stops and no final verdicts are set.
    """
    state, over = Sampled(site.stage.hosts, site.cluster.lab is not None), threading.Event()
    pause_s = min(EVERY_S, site.lasts_s / 4)

    def poll() -> None:
        while not over.wait(pause_s):
            state.add(_run_checks(site, state))

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        over.set()
        thread.join()
    state.final_verdicts = tuple(_run_checks(site, state))


def _run_checks(site: BenchSite, state: Sampled) -> list[Verdict]:
    """Return the checks' verdicts on the bench's hosts; an empty list, and a log line, where they cannot run now."""
    try:
        return [verdict for verdict in site.check() if verdict.subject in state.hosts]
    except WrightError as error:
        site.log(f"checks: {error}")
        return []


def _named(verdict: Verdict) -> Verdict:
    return replace(verdict, check=BENCH, part=f"{verdict.check} {verdict.part}".strip())
