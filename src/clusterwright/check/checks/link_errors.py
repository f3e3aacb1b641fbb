"""The links make no errors."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_counters import Grown, link_counters
from clusterwright.check.links import RULES, Broken, broken
from clusterwright.check.verdict import Verdict

__all__ = ["RULES", "link_errors"]  # the reference shows the rules of this check


@check(
    (link_counters, addresses),
    on=("deploy", "periodic", "burn-in"),
    mend="clean or replace the cable and its transceivers, then see the switch's port; for discards see PFC and ECN",
)
def link_errors(want: Want, have: Grown, interfaces: dict[str, Interface]) -> Iterator[Verdict]:
    """No counter of errors of a cluster's link grows faster than a good link's does."""
    found = [_fault(each, have.seconds) for each in broken(want, have, interfaces)]
    wanted = "no error counter grows faster than on a good link"
    yield from found or [fine(saw=f"{have.seconds:.0f} s without errors", want=wanted)]


def _fault(each: Broken, seconds: float) -> Verdict:
    rule = each.rule
    saw = f"{each.link}: {rule.counter} grew by {each.grown} in {seconds:.0f} s: {rule.means}"
    most = f"at most {rule.most:.3g} a second" if rule.most else f"no more than {rule.free}"
    return fault(saw=saw, want=f"{most} ({rule.source})", otherwise=rule.status, part=each.network)
