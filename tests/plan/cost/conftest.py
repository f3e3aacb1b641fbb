"""Inputs for the tests of money: round numbers, no prices of anybody."""

import pytest

from clusterwright.plan.cost.figures import Estimate


@pytest.fixture(scope="session")
def inputs():
    """One estimate for each figure."""
    a_share = {"unit": "share"}
    return {
        "server": Estimate(200_000, 250_000, 300_000, "USD", "a vendor"),
        "network_share": Estimate(0.1, 0.15, 0.25, **a_share),
        "storage_share": Estimate(0.02, 0.05, 0.10, **a_share),
        "installation_share": Estimate(0.01, 0.02, 0.05, **a_share),
        "staff": Estimate(50_000, 100_000, 200_000, "USD/year"),
        "support_share": Estimate(0.02, 0.04, 0.06, **a_share),
        "node_kw": Estimate(8, 10, 11, "kW"),
        "pue": Estimate(1.1, 1.3, 1.6),
        "energy": Estimate(0.06, 0.09, 0.12, "USD/kWh"),
        "colocation": Estimate(150, 200, 250, "USD/kW/month"),
        "residual_share": Estimate(0.1, 0.2, 0.3, **a_share),
        "life_years": Estimate(3, 4, 5, "years"),
        "on_demand": Estimate(2, 3, 10, "USD/GPU-hour", "a cloud"),
        "reserved": Estimate(1.5, 2, 4, "USD/GPU-hour", "a cloud"),
        "spot": Estimate(0.8, 1.2, 3, "USD/GPU-hour", "a cloud"),
    }
