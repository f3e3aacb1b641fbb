"""Benches of single hosts: all hosts at the same time, repeated if one is in doubt, judged by the fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clusterwright.check.bench.fleet import fleet
from clusterwright.check.bench.judging import Observation, judge, suspect
from clusterwright.check.bench.measure import Condition, Measurement
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.stage import StageAnswer, StagedPart, malformed
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS


@dataclass(frozen=True, slots=True)
class BenchFigure:
    """One quantity that a host measured; a higher value is better.

    The name of the quantity is a key of the store, and therefore the same in all languages.
    """

    quantity: str
    unit: str
    value: float
    conditions: Mapping[str, Condition] = field(default_factory=dict)


Figures = Mapping[str, tuple[BenchFigure, ...]]  # by host


@dataclass(frozen=True, slots=True)
class HostBench:
    """What each host runs, how its answer is read, and the fix for a low figure."""

    bench: str
    part: Callable[[str], StagedPart]
    read: Callable[[StageAnswer], tuple[BenchFigure, ...]]
    fix: str


def measure(site: BenchSite, host_bench: HostBench) -> BenchOutcome:
    """Measure all hosts by a bench, and judge each by the fleet; if one looks slow, measure all once more first.

    All, because a single host would have a file server to itself. Hosts without a result in the first pass are unknown.
    """
    first_pass, failed = run_pass(site, host_bench, site.stage.hosts)
    passes = [first_pass]
    if doubtful := {
        observation.subject for observation in observations(passes) if suspect(observation, None)
    }:
        site.log(
            _(
                "the bench measures all hosts again because of {doubtful}",
                doubtful=", ".join(sorted(doubtful)),
            )
        )
        passes.append(run_pass(site, host_bench, site.stage.hosts)[0])
    verdicts = [
        judge(host_bench.bench, observation, None, host_bench.fix) for observation in observations(passes)
    ]
    return BenchOutcome(
        tuple(rows(host_bench.bench, passes)), (*verdicts, *unknown(host_bench.bench, failed))
    )


def run_pass(site: BenchSite, host_bench: HostBench, hosts: Sequence[str]) -> tuple[Figures, dict[str, str]]:
    """Run the bench on the hosts at the same time; return the figures by host, and the errors of the other hosts."""
    answers = site.stage.do({host: host_bench.part(host) for host in hosts})
    figures: dict[str, tuple[BenchFigure, ...]] = {}
    failed = {host: answer.reason for host, answer in answers.items() if answer.reason}
    for host, answer in answers.items():
        if host not in failed:
            try:
                figures[host] = host_bench.read(answer)
            except DATA_ERRORS as error:
                failed[host] = malformed(error)
    return figures, failed


def observations(passes: Sequence[Figures]) -> list[Observation]:
    """Return an observation of each quantity of each host: its values in all passes, and statistics of the fleet.

    The fleet's statistics are of the best value of each host.
    """
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for figures in passes:
        for host, several in figures.items():
            for figure in several:
                values.setdefault((figure.quantity, figure.unit), {}).setdefault(host, []).append(
                    figure.value
                )
    return [
        Observation(host, tuple(host_values), usual, unit, quantity)
        for (quantity, unit), by_host in values.items()
        for usual in [fleet(max(several) for several in by_host.values())]
        for host, host_values in by_host.items()
    ]


def unknown(bench: str, failed: Mapping[str, str], part: str = "") -> Iterator[Verdict]:
    """Yield an `unknown` verdict on the part with the error for each host that measured nothing."""
    return (Verdict(host, bench, Status.UNKNOWN, reason, part=part) for host, reason in failed.items())


def rows(bench: str, passes: Sequence[Figures], **about: Condition) -> Iterator[Measurement]:
    """Yield all figures of all passes as measurements for the store, with the number of the pass as a condition.

    `about` adds further conditions.
    """
    for number, figures in enumerate(passes, 1):
        for host, several in figures.items():
            for figure in several:
                how = {**figure.conditions, **about, "pass": number}
                yield Measurement(bench, host, figure.quantity, figure.unit, figure.value, (host,), how)
