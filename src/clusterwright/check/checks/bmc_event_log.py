"""The board's log of events tells of nothing that broke."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.check.bmc import in_lab, unavailable_verdict
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.bmc_events import BmcEvent, BmcEvents, bmc_events
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

# IPMI 2.0, tables 42-2 and 42-3.
_BROKEN = re.compile(
    r"Uncorrectable|Non-recoverable|Failure detected|AC lost|Bus (Fatal|Uncorrectable)|PCI [SP]ERR|IERR|Thermal Trip"
    r"|Critical going|Drive Fault|In Failed Array|Run-time Critical Stop|OS graceful stop|FRB\d"
)  # fmt: skip
_AILING = re.compile(
    r"limit reached|Non-critical going|Redundancy (Lost|Degraded)|Predictive [Ff]ailure|Hard reset"
)
_MILD = re.compile(r"Non-critical|Non-Critical")
_DAYS = 7  # ours: what is older was seen by somebody, or is in the log for ever; the BMC's clock says how old
_DAY_S = 86400
_FULL = 90  # percent, ours: a full log keeps nothing more on most boards
_EXPECTED = (
    f"nothing that broke within {_DAYS} days and still stands (IPMI 2.0, table 42-3), and room in the log"
)


@check(
    bmc_events,
    unless=in_lab,
    on=("deploy", "periodic", "burn-in"),
    fix="`ipmitool sel elist` on the host; replace the part that it names, then `ipmitool sel clear`",
)
def bmc_event_log(_spec: HostSpec, have: BmcEvents) -> Iterator[Verdict]:
    """No event of a week that still stands tells of memory, power, heat or a bus that failed, and the log has room."""
    if have.unavailable:
        yield unavailable_verdict(have.unavailable, _EXPECTED)
        return
    faults = list(_faults(have))
    yield from faults or [fine(observed=_("nothing that broke"), expected=_EXPECTED)]


def _faults(have: BmcEvents) -> Iterator[Verdict]:
    for event in have.events:
        status = _status(event)
        if status is not Status.OK:
            days = (
                _("at a time not known")
                if event.ago_s is None
                else _("{ago_s:.1f} days ago", ago_s=event.ago_s / _DAY_S)
            )
            yield fault(
                observed=f"{event.sensor}: {event.description}, {days}",
                expected=_EXPECTED,
                part=event.sensor,
                otherwise=status,
            )
    if have.used_percent is not None and have.used_percent >= _FULL:
        observed, fix = (
            _("the log is {used_percent} % full", used_percent=have.used_percent),
            _("save it, then `ipmitool sel clear`"),
        )
        yield fault(observed=observed, expected=_EXPECTED, fix=fix, part="log", otherwise=Status.WARN)


def _status(event: BmcEvent) -> Status:
    if event.ago_s is not None and event.ago_s > _DAYS * _DAY_S:
        return Status.OK
    if _BROKEN.search(event.description) and not _MILD.search(event.description):
        return Status.FAIL
    return Status.WARN if _AILING.search(event.description) else Status.OK
