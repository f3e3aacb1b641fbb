"""The ports that the cluster needs are open."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.ports import ports, required_ports
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    ports,
    fix="refused: start the service; silent: the other host is down or its firewall drops it",
)
def ports_open(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Compute hosts reach slurmctld, the control host every slurmd and exporter; really connected."""
    needed = required_ports(spec)
    shut = [
        f"{service} ({target}) {have.get(target, 'not tried')}"
        for target, service in needed.items()
        if have.get(target) != "open"
    ]
    observed = "; ".join(shut[:3]) + (_(" and {count} more", count=len(shut) - 3) if len(shut) > 3 else "")
    return expect(
        not shut,
        observed=observed or _("{count} ports open", count=len(needed)),
        expected=_("connections to ") + _summary(needed),
    )


def _summary(needed: dict[str, str]) -> str:
    return ", ".join(
        sorted({f"{service.split()[0]} {target.rpartition(':')[2]}" for target, service in needed.items()})
    )
