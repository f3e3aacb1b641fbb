"""The BMC has logged no hot time of the last week."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from clusterwright.check.bmc import in_lab
from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.bmc_events import BmcEvents, BmcHeat, bmc_events
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import DAY_S, human_duration

_DAYS = 7  # ours, as in bmc_event_log
_MOST_PERIODS = 3
_EXPECTED = N_("no hot sensor, slow fan or throttled processor in the SEL of the last 7 days")


@check(
    bmc_events,
    unless=in_lab,
    on=("deploy", "periodic", "burn-in"),
    fix="compare the times with slow trainings on the host; check fans, air filters, inlet temperature and neighbors",
)
def thermal_history(_spec: HostSpec, have: BmcEvents) -> Iterator[Verdict]:
    """No sensor of the BMC was above its upper limit, no fan below its lower one, no processor throttled by heat.

    Only times of the last week that have ended, by the BMC's clock, each a warning; those that last are faults of
    bmc_event_log.
    """
    if have.unavailable:
        yield skip(_("the SEL cannot be read; see the check bmc_event_log"))
        return
    recent = [
        period for period in have.heat if period.duration_s is not None and period.ago_s <= _DAYS * DAY_S
    ]
    faults = [
        fault(
            observed=_summary(sensor, list(periods)),
            expected=_(_EXPECTED),
            part=sensor,
            otherwise=Status.WARN,
        )
        for sensor, periods in groupby(
            sorted(recent, key=lambda period: period.sensor), lambda period: period.sensor
        )
    ]
    yield from faults or [fine(observed=_("no hot time in the SEL"), expected=_(_EXPECTED))]


def _summary(sensor: str, periods: list[BmcHeat]) -> str:
    times = ", ".join(
        _("{begin} for {duration}", begin=period.begin, duration=human_duration(period.duration_s or 0))
        for period in periods[-_MOST_PERIODS:]
    )
    total = human_duration(sum(period.duration_s or 0 for period in periods))
    reading = next((period.reading for period in reversed(periods) if period.reading), "")
    return _(
        "{sensor}: {count} times in 7 days, {total} in all, last {times} ({reading})",
        sensor=sensor,
        count=len(periods),
        total=total,
        times=times,
        reading=reading or "-",
    )
