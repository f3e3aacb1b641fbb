"""Links have no growing error counters."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_counters import GrownCounter, link_counters
from clusterwright.check.links import RULES, Broken, broken
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import human_duration, human_number

__all__ = ["RULES", "link_errors"]  # docs/reference/checks.md lists RULES as thresholds


@check(
    (link_counters, addresses),
    on=("deploy", "periodic", "burn-in"),
    fix="clean or replace the cable and its transceivers, then check the switch port; for discards check PFC and ECN",
)
def link_errors(spec: HostSpec, have: GrownCounter, interfaces: dict[str, Interface]) -> Iterator[Verdict]:
    """No error counter of a link grows faster than on a healthy link."""
    faults = [_fault(broken_link, have.seconds) for broken_link in broken(spec, have, interfaces)]
    expected = _("no error counter of a network link grows faster than on a healthy link")
    yield from faults or [
        fine(observed=_("no link errors in {time}", time=human_duration(have.seconds)), expected=expected)
    ]


def _fault(broken_link: Broken, seconds: float) -> Verdict:
    rule = broken_link.rule
    observed = _(
        "{link}: {counter} grew by {count} in {time}: {meaning}",
        link=broken_link.link,
        counter=rule.counter,
        count=human_number(broken_link.grown),
        time=human_duration(seconds),
        meaning=_(rule.meaning),
    )
    most = (
        _(
            "the counter grows by at most {rate} per second ({source})",
            rate=human_number(rule.most),
            source=rule.source,
        )
        if rule.most
        else _("the counter grows by at most {count} ({source})", count=rule.free, source=rule.source)
    )
    return fault(observed=observed, expected=most, otherwise=rule.status, part=broken_link.network)
