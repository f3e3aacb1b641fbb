"""The links run at their rate."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_rates import link_rates
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import format_rate


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's links are shaped; their drivers know no rate") if spec.cluster.lab else ""


@check(
    (addresses, link_rates),
    unless=_in_lab,
    field="networks.{part}.rate",
    fix="reseat or replace the cable; see the switch port's speed and negotiation",
)
def link_speed(spec: HostSpec, have: dict[str, Interface], rates: dict[str, int]) -> Iterator[Verdict]:
    """The link of every network runs at least at the declared rate; measured throughput is another matter."""
    networks = spec.cluster.networks.named()
    for name, address in spec.host.addresses.items():
        interface, declared = have.get(str(address)), networks[name].rate
        expected = _("{rate} on {name} (networks.{name}.rate)", rate=format_rate(declared), name=name)
        rate = rates.get(interface.name) if interface else None
        if rate is None:
            yield unknown(_("the driver says no rate for {name}", name=name), expected=expected, part=name)
        else:
            yield expect(
                rate >= declared,
                observed=_("{rate} on {name}", rate=format_rate(rate), name=name),
                expected=expected,
                part=name,
            )
