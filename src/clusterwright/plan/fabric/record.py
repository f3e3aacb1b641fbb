"""Fabrics and comparisons as plain values, computed properties included, for JSON and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.plan.fabric.cables import lengths, medium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.fabric.cables import Hall
    from clusterwright.plan.fabric.compare import Compared
    from clusterwright.plan.fabric.networks import Networks
    from clusterwright.plan.fabric.parts import Fabric


def fabric_record(fabric: Fabric) -> dict[str, Any]:
    """Return the JSON record of one fabric, in bit/s and seconds, with its levels."""
    return {
        "kind": str(fabric.kind),
        "nodes": fabric.nodes,
        "ports_per_node": fabric.ports_per_node,
        "port_bits_per_s": fabric.port_bits_per_s,
        "switch": fabric.switch.title,
        "planes": fabric.planes,
        "levels": [
            {
                "name": level.name,
                "switches": level.count,
                "cables_down": level.cables_down,
                "ports_used": level.ports_used,
                "ports_free": level.ports_free,
            }
            for level in fabric.levels
        ],
        "switches": fabric.switches,
        "cables": fabric.cables,
        "hops": fabric.hops,
        "latency_s": fabric.latency_s,
        "bisection_bits_per_s": fabric.bisection_bits_per_s,
        "oversubscription": fabric.oversubscription,
    }


def compared_record(row: Compared) -> dict[str, Any]:
    """Return the JSON record of one row of the comparison; only `kind` and `why_not` if the fabric cannot be built.

    Times of a step are None without a run.
    """
    if row.fabric is None:
        return {"kind": str(row.kind), "why_not": row.why_not}
    return {
        **fabric_record(row.fabric),
        "power_w": row.power_w,
        "cost": row.cost,
        "all_reduce_1gib_s": row.all_reduce_s,
        "all_reduce_1gib_scattered_s": row.all_reduce_scattered_s,
        "step_s": row.step_s or None,
        "step_scattered_s": row.step_scattered_s or None,
        "schedule": row.cables,
    }


def networks_record(three: Networks) -> dict[str, Any]:
    """Return the JSON records of the three networks, by name."""
    return {
        name: fabric_record(fabric)
        for name, fabric in (
            ("compute", three.compute),
            ("storage", three.storage),
            ("management", three.management),
        )
    }


def cable_rows(fabric: Fabric, hall: Hall) -> Iterator[tuple[str, str, int, int, str]]:
    """Yield every link of one plane as (lower end, upper end, cables, length in m, cable class)."""
    for link, length in lengths(fabric, hall):
        yield link.lower, link.upper, link.cables, length, medium(fabric.port_bits_per_s, length).name
