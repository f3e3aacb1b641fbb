"""The claims of the field guides, held against the models: `checked()`; each claim is one small function."""

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
    hosts.utilisation,
)


def checked() -> tuple[Checked, ...]:
    """Every claim with our verdict, in the order of the mission's rows."""
    return tuple(claim() for claim in CLAIMS)
