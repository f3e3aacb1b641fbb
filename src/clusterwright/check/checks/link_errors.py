"""The links make no errors."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_counters import Grown, link_counters
from clusterwright.check.links import RULES, Broken, broken
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

__all__ = ["RULES", "link_errors"]  # the reference shows the rules of this check


@check(
    (link_counters, addresses),
    on=("deploy", "periodic", "burn-in"),
    fix="clean or replace the cable and its transceivers, then see the switch's port; for discards see PFC and ECN",
)
def link_errors(spec: HostSpec, have: Grown, interfaces: dict[str, Interface]) -> Iterator[Verdict]:
    """No counter of errors of a cluster's link grows faster than a good link's does."""
    faults = [_fault(broken_link, have.seconds) for broken_link in broken(spec, have, interfaces)]
    expected = _("no error counter grows faster than on a good link")
    yield from faults or [
        fine(observed=_("{seconds:.0f} s without errors", seconds=have.seconds), expected=expected)
    ]


def _fault(broken_link: Broken, seconds: float) -> Verdict:
    rule = broken_link.rule
    observed = _(
        "{link}: {counter} grew by {grown} in {seconds:.0f} s: {meaning}",
        link=broken_link.link,
        counter=rule.counter,
        grown=broken_link.grown,
        seconds=seconds,
        meaning=rule.meaning,
    )
    most = (
        _("at most {most:.3g} a second", most=rule.most)
        if rule.most
        else _("no more than {free}", free=rule.free)
    )
    return fault(
        observed=observed, expected=f"{most} ({rule.source})", otherwise=rule.status, part=broken_link.network
    )
