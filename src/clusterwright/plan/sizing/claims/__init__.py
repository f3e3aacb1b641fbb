"""Claims of field guides, compared with the planner's models: `checked()`; each claim is one function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.sizing.claims import collectives, hosts, networks, scaling, tuning
from clusterwright.plan.sizing.claims.claim import Checked, Verdict, judged

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CLAIMS", "Checked", "Verdict", "checked", "judged"]

CLAIMS: tuple[Callable[[], Checked], ...] = (
    tuning.single_server,
    tuning.four_servers,
    hosts.psu,
    networks.leaf_spine,
    networks.latency,
    networks.a_billion,
    scaling.single_node,
    scaling.two_nodes,
    scaling.four_nodes,
    hosts.cloud,
    hosts.half_idle,
    hosts.headroom,
    networks.hdr100,
    networks.hdr100_latency,
    networks.two_25gbe,
    collectives.single_server,
    collectives.four_servers,
    collectives.transports,
    hosts.utilization,
)


def checked() -> tuple[Checked, ...]:
    """Return every claim with its verdict."""
    return tuple(claim() for claim in CLAIMS)
