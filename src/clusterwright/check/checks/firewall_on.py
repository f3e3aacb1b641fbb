"""The firewall is on."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.firewall_rules import Chain, firewall_rules
from clusterwright.check.verdict import Verdict


def _off(want: Want) -> str:
    return "" if want.cluster.security.firewall else "the cluster file has it off (security.firewall)"


@check(
    firewall_rules,
    unless=_off,
    mend="systemctl restart clusterwright-firewall; apply the cluster file again if its rules were edited",
)
def firewall_on(_want: Want, have: tuple[Chain, ...]) -> Verdict:
    """A chain on the input hook drops what no rule lets in, and it has rules."""
    drops = [each for each in have if each.policy == "drop" and each.rules]
    seen = ", ".join(f"{each.table}: policy {each.policy}, {each.rules} rules" for each in have)
    return expect(
        bool(drops),
        saw="drops by default" if drops else seen or "no rules loaded",
        want="policy drop on input (security.firewall)",
    )
