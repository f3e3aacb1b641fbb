"""What owning costs beside the servers, where the user says nothing: each figure with its source, or called ours."""

from __future__ import annotations

import math

from clusterwright.plan.cost.estimate import Estimate

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

# One engineer for 64 nodes, and a quarter of one at the least; our estimate, salary with everything on it.
NODES_PER_ENGINEER, LEAST_ENGINEERS = 64, 0.25
ENGINEER = Estimate(60_000, 150_000, 250_000, "USD/year", "our estimate", "2026-01", "USD")


def staff(nodes: float) -> Estimate:
    """People who look after so many nodes, in money a year."""
    return ENGINEER.times(max(LEAST_ENGINEERS, nodes / NODES_PER_ENGINEER))
