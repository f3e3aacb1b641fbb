"""The firewall is on."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.firewall_rules import Chain, firewall_rules
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.provision.render.firewall_program import firewall_program

_TABLES = {"nftables": "clusterwright", "firewalld": "firewalld"}


def _off(spec: HostSpec) -> str:
    return "" if spec.cluster.security.firewall else _("the cluster file has it off (security.firewall)")


@check(
    firewall_rules,
    unless=_off,
    fix="systemctl restart clusterwright-firewall; apply the cluster file again if its rules were edited",
)
def firewall_on(spec: HostSpec, have: tuple[Chain, ...]) -> Verdict:
    """The program that the file names refuses what no rule of its own lets in, and the other one is silent."""
    program = firewall_program(spec.cluster)
    ours = [chain for chain in have if chain.table == _TABLES.get(program)]
    other_chains = [chain for chain in have if chain.table in _TABLES.values() and chain not in ours]
    refuses = any(chain.policy in ("drop", "reject") and chain.rules for chain in ours)
    observed = ", ".join(
        _(
            "{table}: the rest is {policy}, {rules} rules",
            table=chain.table,
            policy=chain.policy,
            rules=chain.rules,
        )
        for chain in have
    )
    return expect(
        refuses and not other_chains,
        observed=observed or _("no rules loaded"),
        expected=_(
            "{program} refuses what no rule lets in, and nothing else does (security.firewall_program)",
            program=program,
        ),
    )
