"""The rates and latencies that a rail should measure, by the declared network and the catalog; pure."""

from __future__ import annotations

from clusterwright import catalog
from clusterwright.catalog.gpus import copy_rates
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.latency import Bound
from clusterwright.check.bench.rdma.verbs import GDR
from clusterwright.config.networks import Network
from clusterwright.config.nodes import Gpus
from clusterwright.errors import WrightError
from clusterwright.i18n import _, _n
from clusterwright.plan.fabric.parts import ADAPTERS_S, HOP_S, RDMA_SHARE
from clusterwright.plan.machines import gpu_like
from clusterwright.units import format_rate

# Switches between the two most distant hosts, by topology; in a ring hosts forward packets (ours: 8).
SWITCHES = {"single-switch": 1, "star": 3, "leaf-spine": 3, "rail-optimized": 3, "fat-tree": 5, "ring": 8}
# Field guides allow 1.5 us where the parts add up to 0.73 (docs/concepts/guides-checked.md, V2).
TIMES = 2.0


def rate(quantity: str, network: Network, gpus: Gpus | None) -> Expectation:
    """Return the expected bandwidth of one rail: the declared line rate.

    90% of it is acceptable; for GPUDirect, the share that the GPU reaches by the catalog.
    """
    line, reason = network.rate / 8, _("networks.compute.rate {rate}", rate=format_rate(network.rate))
    if quantity != GDR or gpus is None:
        return Expectation(line, "bytes/s", reason, RDMA_SHARE)
    share, name = _gdr_share(gpus)
    return Expectation(
        line,
        "bytes/s",
        _(
            "{reason}, times the GPUDirect share of {name} (catalog/data/gpu_copies.csv)",
            reason=reason,
            name=name,
        ),
        share,
    )


def latency(quantity: str, network: Network) -> Bound:
    """Return the bound of a message's latency: half a round trip for a send, a whole one for a read."""
    switches = SWITCHES[network.fabric]
    base_s = ADAPTERS_S + switches * HOP_S[network.kind]
    turns = 2 if quantity == "read latency" else 1
    reason = _n(
        "adapters and {count} switch of {kind}, networks.compute.fabric",
        "adapters and {count} switches of {kind}, networks.compute.fabric",
        switches,
        kind=network.kind,
    )
    return Bound(turns * base_s, f"{reason} {network.fabric}", TIMES)


def _gdr_share(gpus: Gpus) -> tuple[float, str]:
    """Return the GPU's GPUDirect share of line rate and its name; the lowest share for a GPU not in the table."""
    try:
        row = copy_rates().get(gpu_like(gpus, catalog.gpus().values()).name)
    except WrightError:
        row = None
    return (
        (row.gdr_share, gpus.model)
        if row
        else (min(entry.gdr_share for entry in copy_rates().values()), _("the slowest GPU of that list"))
    )
