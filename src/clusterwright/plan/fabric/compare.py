"""All kinds of fabric for the same nodes, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.catalog.prices import one_currency, price
from clusterwright.catalog.records import Deal
from clusterwright.errors import WrightError
from clusterwright.plan.fabric.cables import HALL, Hall, optics_w, schedule
from clusterwright.plan.fabric.design import DEFAULTS, Options, design
from clusterwright.plan.fabric.expected import ORDERED, SCATTERED, all_reduce_s, step
from clusterwright.plan.fabric.parts import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.catalog.own import Own
    from clusterwright.plan.fabric.cables import Cable
    from clusterwright.plan.fabric.parts import Fabric, Switch
    from clusterwright.plan.run import Machine, Run


SWITCHED = (Kind.STAR, Kind.RING, Kind.LEAF_SPINE, Kind.FAT_TREE, Kind.RAIL, Kind.RAIL_ONLY)
SHARED = 2.0  # ports down over ports up of leaf-spine, where nothing else is said


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be joined."""

    nodes: int
    ports_per_node: int
    switch: Switch
    oversubscription: float | None = None  # None: 2 to 1 for leaf-spine, nothing shared otherwise
    options: Options = DEFAULTS
    hall: Hall = HALL
    own: Own | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """One kind, with what follows from it; without a fabric, why it cannot be built."""

    kind: Kind
    fabric: Fabric | None
    why_not: str = ""
    cables: tuple[Cable, ...] = ()
    power_w: float = 0.0  # switches and optics
    cost: Cost | None = None
    all_reduce_s: float = 0.0  # of 1 GiB over all GPUs, the job placed by topology.conf
    all_reduce_scattered_s: float = 0.0
    step_s: float = 0.0  # 0: no training was given
    step_scattered_s: float = 0.0


def compare(
    wanted: Wanted, machine: Machine, run: Run | None = None, kinds: Iterable[Kind] = ()
) -> tuple[Compared, ...]:
    """Every kind asked for, or all of them; kinds that cannot be built say why."""
    chosen = tuple(kinds) or (*SWITCHED, *((Kind.DIRECT,) if wanted.nodes == 2 else ()))
    return tuple(_compared(kind, wanted, machine, run) for kind in chosen)


def build(kind: Kind, wanted: Wanted) -> Fabric:
    """The fabric of one kind."""
    usual = SHARED if kind is Kind.LEAF_SPINE else 1.0
    ratio = usual if wanted.oversubscription is None else wanted.oversubscription
    return design(kind, wanted.nodes, wanted.ports_per_node, wanted.switch, ratio, wanted.options)


def _compared(kind: Kind, wanted: Wanted, machine: Machine, run: Run | None) -> Compared:
    try:
        made = build(kind, wanted)
    except WrightError as why:
        if any(finding.code not in {"fabric-too-large", "fabric-kind"} for finding in why.findings):
            raise
        return Compared(kind, None, why.findings[0].message)
    cables = schedule(made, wanted.hall, wanted.own)
    return Compared(
        kind=kind,
        fabric=made,
        cables=tuple(cables),
        power_w=made.switch_power_w + optics_w(cables),
        cost=cost(made, cables, wanted.own),
        all_reduce_s=all_reduce_s(machine, made),
        all_reduce_scattered_s=all_reduce_s(machine, made, placement=SCATTERED),
        step_s=float(step(run, made, ORDERED).total) if run else 0.0,
        step_scattered_s=float(step(run, made, SCATTERED).total) if run else 0.0,
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """A range in one currency; `unknown` names what has no price and is not in it."""

    low: float
    likely: float
    high: float
    currency: str
    unknown: tuple[str, ...]


def cost(fabric: Fabric, cables: list[Cable], own: Own | None = None) -> Cost:
    """Switches and cables, bought.

    Raises:
        WrightError: currency-mixed, where prices are in two.
    """
    wanted: dict[str, int] = {}
    if fabric.switches:
        wanted[fabric.switch.name.split("/")[0] or fabric.switch.title] = fabric.switches
    for cable in cables:
        wanted[cable.item] = wanted.get(cable.item, 0) + cable.count
    found = {item: price(item, Deal.OWNED, own) for item in wanted}
    known = {item: each for item, each in found.items() if each}
    low, likely, high = (
        sum(getattr(each, side) * wanted[item] for item, each in known.items())
        for side in ("low", "likely", "high")
    )
    return Cost(low, likely, high, one_currency(known.values()), tuple(sorted(set(found) - set(known))))
