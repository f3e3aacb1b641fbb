"""The networks are there."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.verdict import Verdict


@check(
    addresses,
    on=("bringup", "periodic", "prolog"),
    mend="`ip address` on the host; an MTU has to be equal end to end, with the switches",
)
def interfaces(want: Want, have: dict[str, Interface]) -> Verdict:
    """The host has its address on every network, on an interface with a carrier and the declared MTU."""
    wrong = list(_wrong(want, have))
    wanted = ", ".join(f"{name} {address}" for name, address in want.host.addresses.items())
    return expect(
        not wrong,
        saw="; ".join(wrong) or f"{len(want.host.addresses)} networks up",
        want=_networks(want) if not wrong else wanted,
    )


def _networks(want: Want) -> str:
    networks = want.cluster.networks.named()
    return ", ".join(f"{name} MTU {networks[name].mtu}" for name in want.host.addresses)


def _wrong(want: Want, have: dict[str, Interface]) -> Iterator[str]:
    networks = want.cluster.networks.named()
    for name, address in want.host.addresses.items():
        found = have.get(str(address))
        if found is None:
            yield f"{name}: no interface has {address}"
        elif not found.up:
            yield f"{name}: {found.name} has no carrier"
        elif found.mtu != networks[name].mtu:
            yield f"{name}: {found.name} has MTU {found.mtu}, not {networks[name].mtu}"
