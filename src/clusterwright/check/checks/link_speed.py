"""The links run at their rate."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_rates import link_rates
from clusterwright.check.verdict import Verdict
from clusterwright.units import format_rate


def _in_lab(want: Want) -> str:
    return "a lab's links are shaped; their drivers know no rate" if want.cluster.lab else ""


@check(
    (addresses, link_rates),
    unless=_in_lab,
    field="networks.{part}.rate",
    mend="reseat or replace the cable; see the switch port's speed and negotiation",
)
def link_speed(want: Want, have: dict[str, Interface], rates: dict[str, int]) -> Iterator[Verdict]:
    """The link of every network runs at least at the declared rate; measured throughput is another matter."""
    networks = want.cluster.networks.named()
    for name, address in want.host.addresses.items():
        found, declared = have.get(str(address)), networks[name].rate
        wanted = f"{format_rate(declared)} on {name} (networks.{name}.rate)"
        rate = rates.get(found.name) if found else None
        if rate is None:
            yield unknown(f"the driver says no rate for {name}", want=wanted, part=name)
        else:
            yield expect(rate >= declared, saw=f"{format_rate(rate)} on {name}", want=wanted, part=name)
