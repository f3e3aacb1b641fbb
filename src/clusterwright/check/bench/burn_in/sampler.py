"""The checks of the occasion `burn-in`, asked again and again while hosts are under load, and once afterwards.

What is bad under load alone fails when it was seen twice; in a lab it is a warning, because there the load of all
hosts falls on one machine, and makes answers late that are soon given on metal.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from clusterwright.check.bench.burn_in.burned import BENCH
from clusterwright.check.bench.site import Site
from clusterwright.check.verdict import Status, Verdict
from clusterwright.errors import WrightError

EVERY_S = 60.0
BAD = (Status.WARN, Status.FAIL)
TWICE = 2

Key = tuple[str, str, str]


@dataclass(slots=True)
class Sampled:
    """The worst that each check said under load, and what all said afterwards."""

    hosts: tuple[str, ...]
    lab: bool
    samples: int = 0
    bad: dict[Key, list[Verdict]] = field(default_factory=dict)
    after: tuple[Verdict, ...] = ()

    def see(self, found: list[Verdict]) -> None:
        """One sample."""
        self.samples += 1
        for each in found:
            if each.status in BAD:
                self.bad.setdefault((each.subject, each.check, each.part), []).append(each)

    def verdicts(self) -> Iterator[Verdict]:
        """All of afterwards, then those that were bad under load alone; each names its check in its part."""
        bad = {(each.subject, each.check, each.part) for each in self.after if each.status in BAD}
        for each in self.after:
            if each.status is not Status.SKIPPED:
                yield _named(each)
        for key, several in self.bad.items():
            if key not in bad:
                yield self._under_load(several)

    def _under_load(self, several: list[Verdict]) -> Verdict:
        fails = [each for each in several if each.status is Status.FAIL]
        status = Status.FAIL if len(fails) >= TWICE and not self.lab else Status.WARN
        last = _named((fails or several)[-1])
        saw = f"under load, in {len(several)} of {self.samples} looks: {last.saw}"
        return replace(last, status=status, saw=saw)


@contextmanager
def sampling(site: Site) -> Iterator[Sampled]:
    """Asked while the block runs, and when it has ended."""
    found, over = Sampled(site.stage.hosts, site.cluster.lab is not None), threading.Event()
    pause_s = min(EVERY_S, site.lasts_s / 4)

    def ask() -> None:
        while not over.wait(pause_s):
            found.see(_asked(site, found))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
    found.after = tuple(_asked(site, found))


def _asked(site: Site, found: Sampled) -> list[Verdict]:
    """What the checks say of the hosts; nothing where they cannot be asked now."""
    try:
        return [each for each in site.check() if each.subject in found.hosts]
    except WrightError as why:
        site.say(f"checks: {why}")
        return []


def _named(each: Verdict) -> Verdict:
    return replace(each, check=BENCH, part=f"{each.check} {each.part}".strip())
