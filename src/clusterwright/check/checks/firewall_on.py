"""The firewall is on."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.firewall_rules import Chain, firewall_rules
from clusterwright.check.verdict import Verdict
from clusterwright.provision.render.firewall_program import firewall_program

_TABLES = {"nftables": "clusterwright", "firewalld": "firewalld"}


def _off(want: Want) -> str:
    return "" if want.cluster.security.firewall else "the cluster file has it off (security.firewall)"


@check(
    firewall_rules,
    unless=_off,
    mend="systemctl restart clusterwright-firewall; apply the cluster file again if its rules were edited",
)
def firewall_on(want: Want, have: tuple[Chain, ...]) -> Verdict:
    """The program that the file names refuses what no rule of its own lets in, and the other one is silent."""
    program = firewall_program(want.cluster)
    ours = [each for each in have if each.table == _TABLES.get(program)]
    others = [each for each in have if each.table in _TABLES.values() and each not in ours]
    refuses = any(each.rest in ("drop", "reject") and each.rules for each in ours)
    seen = ", ".join(f"{each.table}: the rest is {each.rest}, {each.rules} rules" for each in have)
    return expect(
        refuses and not others,
        saw=seen or "no rules loaded",
        want=f"{program} refuses what no rule lets in, and nothing else does (security.firewall_program)",
    )
