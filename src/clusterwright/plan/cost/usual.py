"""What owning costs beside the servers, where the user says nothing: each figure with its source, or called ours."""

from __future__ import annotations

import math
from dataclasses import replace

from clusterwright.catalog.prices import Deal, Price
from clusterwright.plan.cost.estimate import Estimate, priced

_YEARS = 4.0
_TCO = "public TCO pages, low quality (v2-pseo-ai GPU TCO)"


def _at_the_end(after_three_years: float) -> float:
    """What is left of a value that falls by the same share each year, at the end of the likely life."""
    return math.pow(after_three_years, _YEARS / 3)


SHARES = {
    # 10 to 15% of the nodes; 15 to 25% of the whole purchase of a SuperPOD
    "network_share": Estimate(0.10, 0.15, 0.25, "of the servers", f"{_TCO}; notes on DGX SuperPOD"),
    # 50,000 USD a GPU all in, against 40,600 for the server of it (tech-talk-cto) and 15% for the network
    "storage_share": Estimate(0.03, 0.08, 0.12, "of the servers", "what a GPU costs all in, less server and network"),
    "installation_share": Estimate(0.01, 0.03, 0.06, "of the servers", "our estimate: freight, racking, cabling"),
    "support_share": Estimate(0.02, 0.05, 0.08, "of the purchase a year", "our estimate of maintenance contracts"),
    "pue": Estimate(1.10, 1.25, 1.65, "", "data-centre notes: 1.1-1.15 best, 1.2-1.3 usual, 1.5-1.8 old"),
    "residual_share": Estimate(
        _at_the_end(0.25), _at_the_end(0.30), _at_the_end(0.35), "of the purchase",
        f"25 to 35% of an H100 after 3 years ({_TCO}), carried on to {_YEARS:g}",
    ),
    "life_years": Estimate(3, _YEARS, 6, "years", "what large clouds write servers off over, 4 to 6; 3 for GPUs"),
}  # fmt: skip

# Reserved 20 to 40% and spot 50 to 70% below on-demand: https://packet.ai/blog/gpu-pricing-models-compared
DISCOUNTED = {Deal.RESERVED: (0.6, 0.7, 0.8), Deal.SPOT: (0.3, 0.4, 0.5)}

# One engineer for 64 nodes, and a quarter of one at the least; our estimate, salary with everything on it.
NODES_PER_ENGINEER, LEAST_ENGINEERS = 64, 0.25
ENGINEER = Price(
    "engineer", Deal.OWNED, "year", 60_000, 150_000, 250_000, "USD", "2026-01", "estimate", "our estimate"
)  # fmt: skip


def staff(nodes: float) -> Estimate:
    """People who look after so many nodes, in money a year."""
    return priced(ENGINEER).times(max(LEAST_ENGINEERS, nodes / NODES_PER_ENGINEER))


def discounted(on_demand: Price, deal: Deal) -> Price:
    """What is paid for a GPU that no price of this deal is known of."""
    low, likely, high = DISCOUNTED[deal]
    return replace(
        on_demand, deal=deal, low=on_demand.low * low, likely=on_demand.likely * likely,
        high=on_demand.high * high, quality="estimate", source=f"from on-demand: {on_demand.source}",
    )  # fmt: skip
