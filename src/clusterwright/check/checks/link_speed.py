"""Links run at their declared rate."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_rates import link_rates
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import human_bit_rate


def _in_lab(spec: HostSpec) -> str:
    return _("links of a lab are virtual and report no rate") if spec.cluster.lab else ""


@check(
    (addresses, link_rates),
    unless=_in_lab,
    field="networks.{part}.rate",
    fix="reseat or replace the cable; check speed and auto-negotiation of the switch port",
)
def link_speed(spec: HostSpec, have: dict[str, Interface], rates: dict[str, int]) -> Iterator[Verdict]:
    """The link of every network runs at least at the declared rate (the negotiated rate, not a measurement)."""
    networks = spec.cluster.networks.named()
    for name, address in spec.host.addresses.items():
        interface, declared = have.get(str(address)), networks[name].rate
        expected = _(
            "the link has a rate of at least {rate} (networks.{network}.rate)",
            rate=human_bit_rate(declared),
            network=name,
        )
        rate = rates.get(interface.name) if interface else None
        if rate is None:
            yield unknown(
                _("the driver reports no rate for network {network}", network=name),
                expected=expected,
                part=name,
            )
        else:
            yield expect(
                rate >= declared,
                observed=_("{rate} on network {network}", rate=human_bit_rate(rate), network=name),
                expected=expected,
                part=name,
            )
