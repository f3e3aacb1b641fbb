"""Names and addresses are known everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.names import Names, names
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    names,
    fix="apply the cluster file again: it writes /etc/hosts; `getent hosts NAME` shows what the host knows",
)
def name_resolution(spec: HostSpec, have: Names) -> Verdict:
    """Every host resolves every name to its management address and back; torch needs the way back too."""
    wrong = list(_wrong(spec, have))
    observed = "; ".join(wrong[:3]) + (_(" and {count} more", count=len(wrong) - 3) if len(wrong) > 3 else "")
    total = len(spec.cluster.hosts())
    return expect(
        not wrong,
        observed=observed or _("{total} names both ways", total=total),
        expected=_("{total} names and addresses as in nodes.*.addresses", total=total),
    )


def _wrong(spec: HostSpec, have: Names) -> Iterator[str]:
    for host in spec.cluster.hosts():
        address = str(host.management)
        addresses, back = have.forward.get(host.name, ()), have.reverse.get(address, ())
        if address not in addresses or any(resolved.startswith("127.") for resolved in addresses):
            yield _(
                "{host} is {addresses}, not {address}",
                host=host.name,
                addresses=" and ".join(addresses) or "unknown",
                address=address,
            )
        elif host.name not in {name.split(".")[0] for name in back}:
            yield _(
                "{address} is {back}, not {host}",
                address=address,
                back=back[0] if back else "unknown",
                host=host.name,
            )
