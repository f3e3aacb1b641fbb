"""The ports that the cluster needs are reachable."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.ports import ports, required_ports
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _, _n


@check(
    ports,
    fix="for `refused` start the service on the other host; for `silent` check that the host is up and its firewall",
)
def ports_open(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Compute hosts can connect to slurmctld, and the control host to every slurmd and exporter."""
    needed = required_ports(spec)
    shut = [
        f"{service} ({target}): {have.get(target) or _('not tested')}"
        for target, service in needed.items()
        if have.get(target) != "open"
    ]
    more = [_("and {count} more", count=len(shut) - 3)] if len(shut) > 3 else []
    return expect(
        not shut,
        observed="; ".join([*shut[:3], *more])
        or _n("{count} port reachable", "{count} ports reachable", len(needed)),
        expected=_("connections to {services}", services=_summary(needed)),
    )


def _summary(needed: dict[str, str]) -> str:
    return ", ".join(
        sorted({f"{service.split()[0]} {target.rpartition(':')[2]}" for target, service in needed.items()})
    )
