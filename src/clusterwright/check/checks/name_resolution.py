"""Every host resolves all host names and addresses."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.names import Names, names
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _, _n


@check(
    names, fix="run `wright apply`, which writes /etc/hosts; `getent hosts NAME` shows what the host resolves"
)
def name_resolution(spec: HostSpec, have: Names) -> Verdict:
    """Every host resolves all host names to management addresses and back; torch needs reverse lookups too."""
    wrong = list(_wrong(spec, have))
    more = [_("and {count} more", count=len(wrong) - 3)] if len(wrong) > 3 else []
    count = len(spec.cluster.hosts())
    return expect(
        not wrong,
        observed="; ".join([*wrong[:3], *more])
        or _n("{count} host resolves both ways", "{count} hosts resolve both ways", count),
        expected=_("names and addresses of all hosts as in nodes.*.addresses"),
    )


def _wrong(spec: HostSpec, have: Names) -> Iterator[str]:
    for host in spec.cluster.hosts():
        address = str(host.management)
        addresses, back = have.forward.get(host.name, ()), have.reverse.get(address, ())
        if address not in addresses or any(resolved.startswith("127.") for resolved in addresses):
            yield _(
                "{host} resolves to {addresses} instead of {address}",
                host=host.name,
                addresses=", ".join(addresses) or _("no address"),
                address=address,
            )
        elif host.name not in {name.split(".")[0] for name in back}:
            yield _(
                "{address} resolves to {name} instead of {host}",
                address=address,
                name=back[0] if back else _("no name"),
                host=host.name,
            )
