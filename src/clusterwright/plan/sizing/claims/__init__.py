"""Claims of field guides, compared with the planner's models: `checked()`, and those of any text: `judge_text()`.

A claim that needs a model of its own is one function; any other is one line of `catalog/data/guide_lines.toml`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.sizing.claims import collectives, hosts, networks, scaling, tuning
from clusterwright.plan.sizing.claims.claim import Checked, Verdict, judged
from clusterwright.plan.sizing.claims.reading import judge_guide_lines, judge_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CLAIMS", "Checked", "Verdict", "checked", "judge_text", "judged"]

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
    collectives.single_server,
    collectives.four_servers,
    collectives.transports,
    networks.wrong_network,
    networks.multi_node_efficiency,
    hosts.utilization,
)


def checked() -> tuple[Checked, ...]:
    """Return every claim with its verdict: those of a function each, and the lines of the catalog."""
    return (*(claim() for claim in CLAIMS), *judge_guide_lines())
