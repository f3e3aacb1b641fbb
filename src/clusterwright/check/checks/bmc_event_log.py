"""The BMC's System Event Log has no recent fault."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.check.bmc import in_lab, unavailable_verdict
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.bmc_events import BmcEvent, BmcEvents, bmc_events
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import DAY_S, human_duration

# IPMI 2.0, tables 42-2 and 42-3.
_BROKEN = re.compile(
    r"Uncorrectable|Non-recoverable|Failure detected|AC lost|Bus (Fatal|Uncorrectable)|PCI [SP]ERR|IERR|Thermal Trip"
    r"|Critical going|Drive Fault|In Failed Array|Run-time Critical Stop|OS graceful stop|FRB\d"
)
_AILING = re.compile(
    r"limit reached|Non-critical going|Redundancy (Lost|Degraded)|Predictive [Ff]ailure|Hard reset"
)
_MILD = re.compile(r"Non-critical|Non-Critical")
_DAYS = 7  # ours: older events are known or never cleared; ages are by the BMC's clock
_FULL = 90  # percent, ours: most BMCs drop new events when the log is full
_EXPECTED = N_(
    "no asserted fault of the last 7 days in the SEL (IPMI 2.0, table 42-3), and free space in the SEL"
)


@check(
    bmc_events,
    unless=in_lab,
    on=("deploy", "periodic", "burn-in"),
    fix="run `ipmitool sel elist` on the host, replace the part that it names, then run `ipmitool sel clear`",
    in_jobs=True,
)
def bmc_event_log(_spec: HostSpec, have: BmcEvents) -> Iterator[Verdict]:
    """The BMC's event log has free space and no asserted memory, power, heat or bus fault of the last week."""
    if have.unavailable:
        yield unavailable_verdict(have.unavailable, _(_EXPECTED))
        return
    faults = list(_faults(have))
    yield from faults or [fine(observed=_("no asserted fault in the SEL"), expected=_(_EXPECTED))]


def _faults(have: BmcEvents) -> Iterator[Verdict]:
    for event in have.events:
        status = _status(event)
        if status is not Status.OK:
            event_text = f"{event.sensor}: {event.description}"
            yield fault(
                observed=_("{event}, time unknown", event=event_text)
                if event.ago_s is None
                else _("{event}, {age} ago", event=event_text, age=human_duration(event.ago_s)),
                expected=_(_EXPECTED),
                part=event.sensor,
                otherwise=status,
            )
    if have.used_percent is not None and have.used_percent >= _FULL:
        observed, fix = (
            _("the SEL is {percent}% full", percent=have.used_percent),
            _("save the SEL with `ipmitool sel elist`, then run `ipmitool sel clear`"),
        )
        yield fault(observed=observed, expected=_(_EXPECTED), fix=fix, part="log", otherwise=Status.WARN)


def _status(event: BmcEvent) -> Status:
    if event.ago_s is not None and event.ago_s > _DAYS * DAY_S:
        return Status.OK
    if _BROKEN.search(event.description) and not _MILD.search(event.description):
        return Status.FAIL
    return Status.WARN if _AILING.search(event.description) else Status.OK
