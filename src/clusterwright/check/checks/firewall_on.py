"""The firewall is active."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.firewall_rules import Chain, firewall_rules
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.provision.render.firewall_program import firewall_program

_TABLES = {"nftables": "clusterwright", "firewalld": "firewalld"}


def _off(spec: HostSpec) -> str:
    return "" if spec.cluster.security.firewall else _("security.firewall is off in the cluster file")


@check(
    firewall_rules,
    unless=unmanaged("packet_filter", "firewalld", otherwise=_off),
    fix="run `systemctl restart clusterwright-firewall`; run `wright apply` if the rules were edited",
)
def firewall_on(spec: HostSpec, have: tuple[Chain, ...]) -> Verdict:
    """The declared firewall program blocks what its rules do not allow, and no other firewall program has rules."""
    program = firewall_program(spec.cluster)
    ours = [chain for chain in have if chain.table == _TABLES.get(program)]
    other_chains = [chain for chain in have if chain.table in _TABLES.values() and chain not in ours]
    refuses = any(chain.policy in ("drop", "reject") and chain.rules for chain in ours)
    observed = ", ".join(
        _(
            "table {table}: policy {policy}, rules: {count}",
            table=chain.table,
            policy=chain.policy,
            count=chain.rules,
        )
        for chain in have
    )
    return expect(
        refuses and not other_chains,
        observed=observed or _("no firewall rules loaded"),
        expected=_(
            "only {program} filters, and drops or rejects by default (security.firewall_program)",
            program=program,
        ),
    )
