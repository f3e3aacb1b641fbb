"""Every network interface is up with its address and MTU."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    addresses,
    on=("deploy", "periodic", "prolog", "boot"),
    fix="run `ip address` on the host and correct the interface; the MTU must be the same on all hosts and switches",
)
def interfaces(spec: HostSpec, have: dict[str, Interface]) -> Iterator[Verdict]:
    """The host has its address on every network, on an interface with a carrier and the declared MTU."""
    networks = spec.cluster.networks.named()
    for name, address in spec.host.addresses.items():
        mtu = networks[name].mtu
        wrong = _wrong(have.get(str(address)), str(address), mtu)
        yield expect(
            not wrong,
            observed=f"{name}: {wrong}" if wrong else _("{network} is up", network=name),
            expected=_(
                "{address} up with MTU {mtu} (networks.{network}.mtu)", address=address, network=name, mtu=mtu
            )
            if wrong
            else _("MTU {mtu}", mtu=mtu),
            part=name,
        )


def _wrong(interface: Interface | None, address: str, mtu: int) -> str:
    if interface is None:
        return _("no network interface of the host has the address {address}", address=address)
    if not interface.up:
        return _("the network interface {interface} has no carrier", interface=interface.name)
    return (
        ""
        if interface.mtu == mtu
        else _("{interface} has MTU {mtu}", interface=interface.name, mtu=interface.mtu)
    )
