"""Compute hosts keep users apart."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.isolation_rules import isolation_rules
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.provision.render.isolation import is_isolated

_CHAINS = ("compare_users", "note_user", "output", "user")


def _off(spec: HostSpec) -> str:
    if is_isolated(spec.cluster):
        return ""
    return _("security.firewall, security.isolate_users or slurm.health is off in the cluster file")


@check(
    isolation_rules,
    when=is_compute,
    unless=unmanaged("isolation", otherwise=_off),
    fix="run `systemctl restart clusterwright-isolation`; run `wright apply` if the rules were edited",
)
def users_isolated(_spec: HostSpec, have: tuple[str, ...]) -> Verdict:
    """The rules are loaded by which a user's packets reach only hosts and programs of that user."""
    missing = [chain for chain in _CHAINS if chain not in have]
    return expect(
        not missing,
        observed=_("nftables chains without rules: {chains}", chains=", ".join(missing))
        if missing
        else _("rules loaded"),
        expected=_(
            "the nftables table {table} has its rules (security.isolate_users)",
            table="table inet clusterwright_users",
        ),
    )
