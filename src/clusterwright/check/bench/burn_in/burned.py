"""Verdicts on hosts after a burn-in: whether every result was right, and whether any host slowed down; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterwright.check.bench.fleet import FEWEST, OUTLIER_DEVIATIONS, TINY, factors
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

BENCH = "burn_in"
ENOUGH = 0.9  # ours: a GPU throttled by heat loses more, a fan that slows down costs less
LEAST_QUARTER = 3  # slices; with fewer, one disturbed slice decides


@dataclass(slots=True)
class Burned:
    """One host's burn-in: its rate in each slice by load, wrong results, and loads that could not run."""

    host: str
    rates: dict[str, list[float]] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    sums: dict[str, set[int]] = field(default_factory=dict)
    heat: dict[str, list[float]] = field(default_factory=dict)
    pairs: int = 0
    pairs_failed: list[str] = field(default_factory=list)

    def add(self, document: Mapping[str, Any]) -> None:
        """Add one run of the burn-in to this host's record: rates, wrong results, errors, sums and temperatures."""
        for name, rates in document["rates"].items():
            self.rates.setdefault(name, []).extend(rates)
        for name, messages in document["wrong"].items():
            self.wrong.setdefault(name, []).extend(messages)
        self.broken |= document["broken"]
        for device, total in document["sums"].items():
            self.sums.setdefault(device, set()).add(total)
        for name, values in document["heat"].items():
            self.heat.setdefault(name, []).extend(values)
        if document["pair"] is not None:
            self.pairs += 1
            self.pairs_failed += [document["pair"]["failed"]] if "failed" in document["pair"] else []


@dataclass(frozen=True, slots=True)
class Drift:
    """The last quarter's median rate over the first's; `is_disjoint`: every last slice is below every first one."""

    share: float
    is_disjoint: bool


def drift(rates: Sequence[float]) -> Drift | None:
    """Return the drift of one load's rates per slice; None for fewer than 12 slices, or if the first ones are 0."""
    quarter = len(rates) // 4
    if quarter < LEAST_QUARTER:
        return None
    first_quarter, last = rates[:quarter], rates[-quarter:]
    baseline = statistics.median(first_quarter)
    return Drift(statistics.median(last) / baseline, max(last) < min(first_quarter)) if baseline else None


def verdicts(burned: Sequence[Burned]) -> Iterator[Verdict]:
    """Yield verdicts on every host's results, on loads that could not run, and on every load's drift."""
    for record in burned:
        yield _of_results(record)
        for name, reason in record.broken.items():
            yield Verdict(
                record.host,
                BENCH,
                Status.UNKNOWN,
                reason,
                _("the load {name} runs during the whole burn-in", name=name),
                part=name,
            )
    names = dict.fromkeys(name for record in burned for name in record.rates)
    for name in names:
        drifts = {record.host: drift(record.rates.get(name, ())) for record in burned}
        yield from _of_drift(name, {host: host_drift for host, host_drift in drifts.items() if host_drift})


def _of_results(record: Burned) -> Verdict:
    """Return the verdict on a host's results: fail if one is wrong, or the same product varied with time; else OK.

    Unknown if nothing was measured.
    """
    errors = [
        _("{name}: {message}, {count} times", name=name, message=messages[0], count=len(messages))
        for name, messages in record.wrong.items()
    ]
    errors += [
        _("{device}: {count} different results of the same matrix product", device=device, count=len(sums))
        for device, sums in record.sums.items()
        if len(sums) > 1
    ]
    expected = _(
        "every repetition of a computation gives the same bits, and every byte is read back as written"
    )
    if not record.rates:
        return Verdict(
            record.host, BENCH, Status.UNKNOWN, _("nothing was measured"), expected, part="results"
        )
    fix = (
        _("drain the host: a CPU, GPU, memory module or disk corrupts data; see its ECC counts")
        if errors
        else ""
    )
    observed = "; ".join(errors) or _("passed: {rates}", rates=", ".join(record.rates))
    return Verdict(
        record.host, BENCH, Status.FAIL if errors else Status.OK, observed, expected, fix, "results"
    )


def _of_drift(name: str, drifts: Mapping[str, Drift]) -> Iterator[Verdict]:
    """Yield a verdict on each host: fail if it slowed down beyond the spread of the others, OK if it did not slow down.

    Warn if it slowed down and is no outlier, or the hosts are too few. Slowed down: the last quarter is below 90% of
    the first, and every slice of it below every slice of the first.
    """
    if not drifts:
        return
    shares = {host: max(host_drift.share, TINY) for host, host_drift in drifts.items()}
    usual, spread = statistics.median(shares.values()), factors(shares.values())
    expected = _(
        "in the last quarter of the burn-in, at least {enough:.0%} of the work of the first quarter",
        enough=ENOUGH,
    )
    for host, host_drift in drifts.items():
        low = host_drift.share < ENOUGH and host_drift.is_disjoint
        is_outlier = len(drifts) >= FEWEST and math.log(shares[host] / usual) / spread < -OUTLIER_DEVIATIONS
        status = Status.FAIL if low and is_outlier else Status.WARN if low else Status.OK
        observed = _(
            "in the last quarter of the burn-in, {share:.0%} of the work of "
            "the first quarter; the median of {count} hosts is {usual:.0%}",
            share=host_drift.share,
            usual=usual,
            count=len(drifts),
        )
        fix = _(
            "compare temperatures, clocks and throttle reasons with the other hosts: fans, air "
            "inlet, power supply"
        )
        yield Verdict(
            host, BENCH, status, observed, expected, fix if low else "", _("{name} drift", name=name)
        )
