"""The networks are there."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.verdict import Verdict


@check(
    addresses,
    on=("deploy", "periodic", "prolog", "boot"),
    mend="`ip address` on the host; an MTU has to be equal end to end, with the switches",
)
def interfaces(want: Want, have: dict[str, Interface]) -> Iterator[Verdict]:
    """The host has its address on every network, on an interface with a carrier and the declared MTU."""
    networks = want.cluster.networks.named()
    for name, address in want.host.addresses.items():
        mtu = networks[name].mtu
        wrong = _wrong(have.get(str(address)), str(address), mtu)
        yield expect(
            not wrong,
            saw=f"{name}: {wrong}" if wrong else f"{name} is up",
            want=f"{address} on {name}, MTU {mtu} (networks.{name}.mtu)" if wrong else f"MTU {mtu}",
            part=name,
        )


def _wrong(found: Interface | None, address: str, mtu: int) -> str:
    if found is None:
        return f"no interface has {address}"
    if not found.up:
        return f"{found.name} has no carrier"
    return "" if found.mtu == mtu else f"{found.name} has MTU {found.mtu}, not {mtu}"
