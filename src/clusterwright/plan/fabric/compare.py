"""Comparison of all kinds of fabric for the same nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.catalog.prices import common_currency, price
from clusterwright.catalog.records import Deal
from clusterwright.errors import WrightError
from clusterwright.plan.fabric.cables import HALL, Hall, optics_w, schedule
from clusterwright.plan.fabric.design import DEFAULTS, Options, design
from clusterwright.plan.fabric.expected import ORDERED, SCATTERED, all_reduce_s, step
from clusterwright.plan.fabric.parts import FabricKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.fabric.cables import Cable
    from clusterwright.plan.fabric.parts import Fabric, FabricSwitch
    from clusterwright.plan.run import Machine, Run


SWITCHED = (
    FabricKind.STAR, FabricKind.RING, FabricKind.LEAF_SPINE, FabricKind.FAT_TREE, FabricKind.RAIL,
    FabricKind.RAIL_ONLY,
)  # fmt: skip
SHARED = 2.0  # default oversubscription of leaf-spine: ports down over ports up


@dataclass(frozen=True, slots=True)
class FabricRequirements:
    """Requirements of a fabric: nodes, ports, switch, oversubscription."""

    nodes: int
    ports_per_node: int
    switch: FabricSwitch
    oversubscription: float | None = None  # None: 2 to 1 for leaf-spine, else 1 to 1
    options: Options = DEFAULTS
    hall: Hall = HALL
    user_catalog: UserCatalog | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """One kind of fabric with cables, power, cost and speed, or the reason why it cannot be built."""

    kind: FabricKind
    fabric: Fabric | None
    why_not: str = ""
    cables: tuple[Cable, ...] = ()
    power_w: float = 0.0  # switches and optics
    cost: Cost | None = None
    all_reduce_s: float = 0.0  # of 1 GiB over all GPUs, job placed by topology.conf
    all_reduce_scattered_s: float = 0.0
    step_s: float = 0.0  # 0 without a training
    step_scattered_s: float = 0.0


def compare(
    requirements: FabricRequirements,
    machine: Machine,
    run: Run | None = None,
    kinds: Iterable[FabricKind] = (),
) -> tuple[Compared, ...]:
    """Design and compare the requested kinds of fabric, or all; kinds that cannot be built have a reason.

    A direct connection is compared by default only for two nodes. With `run`, step times of that training are compared
    too.
    """
    chosen = tuple(kinds) or (*SWITCHED, *((FabricKind.DIRECT,) if requirements.nodes == 2 else ()))
    return tuple(_compared(kind, requirements, machine, run) for kind in chosen)


def build(kind: FabricKind, requirements: FabricRequirements) -> Fabric:
    """Design a fabric of one kind for the requirements; default oversubscription: 2 for leaf-spine, else 1."""
    usual = SHARED if kind is FabricKind.LEAF_SPINE else 1.0
    ratio = usual if requirements.oversubscription is None else requirements.oversubscription
    return design(
        kind,
        requirements.nodes,
        requirements.ports_per_node,
        requirements.switch,
        ratio,
        requirements.options,
    )


def _compared(
    kind: FabricKind, requirements: FabricRequirements, machine: Machine, run: Run | None
) -> Compared:
    try:
        fabric = build(kind, requirements)
    except WrightError as error:
        if any(finding.code not in {"fabric-too-large", "fabric-kind"} for finding in error.findings):
            raise
        return Compared(kind, None, error.findings[0].message)
    cables = schedule(fabric, requirements.hall, requirements.user_catalog)
    return Compared(
        kind=kind,
        fabric=fabric,
        cables=tuple(cables),
        power_w=fabric.switch_power_w + optics_w(cables),
        cost=cost(fabric, cables, requirements.user_catalog),
        all_reduce_s=all_reduce_s(machine, fabric),
        all_reduce_scattered_s=all_reduce_s(machine, fabric, placement=SCATTERED),
        step_s=float(step(run, fabric, ORDERED).total) if run else 0.0,
        step_scattered_s=float(step(run, fabric, SCATTERED).total) if run else 0.0,
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """A price range in one currency; `unknown` lists items without a price, which are not included."""

    low: float
    likely: float
    high: float
    currency: str
    unknown: tuple[str, ...]


def cost(fabric: Fabric, cables: list[Cable], user_catalog: UserCatalog | None = None) -> Cost:
    """Compute the purchase price of a fabric's switches and cables; items without a price are listed and count 0.

    Prices of `user_catalog` take precedence.

    Raises:
        WrightError: currency-mixed if prices are in two currencies.
    """
    counts: dict[str, int] = {}
    if fabric.switches:
        counts[fabric.switch.name.split("/")[0] or fabric.switch.title] = fabric.switches
    for cable in cables:
        counts[cable.item] = counts.get(cable.item, 0) + cable.count
    prices = {item: price(item, Deal.OWNED, user_catalog) for item in counts}
    priced_items = {item: entry for item, entry in prices.items() if entry}
    low, likely, high = (
        sum(getattr(entry, side) * counts[item] for item, entry in priced_items.items())
        for side in ("low", "likely", "high")
    )
    return Cost(
        low,
        likely,
        high,
        common_currency(priced_items.values()),
        tuple(sorted(set(prices) - set(priced_items))),
    )
