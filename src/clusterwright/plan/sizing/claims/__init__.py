"""The claims of the field guides, held against the models: `checked()`; each claim is one small function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.sizing.claims import collectives, money, networks, scaling, sharing, supplies, tuning
from clusterwright.plan.sizing.claims.claim import Checked, Verdict, judged

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CLAIMS", "Checked", "Verdict", "checked", "judged"]

CLAIMS: tuple[Callable[[], Checked], ...] = (
    tuning.one_server,
    tuning.four_servers,
    supplies.psu,
    networks.leaf_spine,
    networks.latency,
    networks.a_billion,
    scaling.one_node,
    scaling.two_nodes,
    scaling.four_nodes,
    money.cloud,
    money.half_idle,
    sharing.headroom,
    networks.hdr100,
    networks.hdr100_latency,
    networks.two_25gbe,
    collectives.one_server,
    collectives.four_servers,
    collectives.transports,
    sharing.utilisation,
)


def checked() -> tuple[Checked, ...]:
    """Every claim with our verdict, in the order of the mission's rows."""
    return tuple(claim() for claim in CLAIMS)
