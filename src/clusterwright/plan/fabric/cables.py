"""Which cable: how long each one is in the hall, and copper, active optical or transceivers for that length."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.fabric.wiring import links

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.fabric.parts import Fabric, Link

LENGTHS_M = (1, 2, 3, 5, 10, 15, 20, 30, 50, 100, 150, 300, 500)  # the steps cables are sold in


@dataclass(frozen=True, slots=True)
class Hall:
    """Where racks stand. An estimate to order by; measure before you cut."""

    nodes_per_rack: int = 4
    racks_per_row: int = 20
    rack_m: float = 0.6  # width of a rack; EIA-310 cabinets are 600 mm or 700 mm wide
    row_m: float = 3.0  # from row to row: 1.2 m of rack and half of a cold and a hot aisle
    in_rack_m: float = 1.5  # from one unit to another in the same rack
    rise_m: float = 2.0  # from a unit up to the tray, at each end


@dataclass(frozen=True, slots=True)
class Medium:
    """One class of cable at one rate."""

    name: str  # DAC, AOC, SR, DR
    reach_m: float
    end_w: float  # drawn at each end


@dataclass(frozen=True, slots=True)
class Cable:
    """So many alike."""

    level: str  # node, leaf, spine: what the lower end is
    medium: str
    length_m: int
    count: int


HALL = Hall()

# Reach and power by Gbit/s of the port. 100G lanes (400G, 800G): copper to 3 m at 0.1 W an end, multimode to 50 m and
# single mode to 500 m at 17 W for two 400G ports, no active optical cable of 800G:
# https://docs.nvidia.com/networking/display/400g100gpam4ovpub. Slower: copper to 2 to 5 m by rate, active optical
# cables from 3 m to 100 m, single mode to 500 m: https://docs.nvidia.com/networking/display/cablemanagfaq; an HDR
# cable up to 6 W an end: https://docs.nvidia.com/dgx-superpod/design-guide-cabling-data-centers/latest/port-power.html;
# QSFP28 3.5 W: power class 4 of SFF-8636; SFP28 1 W: power level I of SFF-8431.
_MEDIA = {
    1_600: (Medium("DAC", 2, 0.1), Medium("SR", 50, 34.0), Medium("DR", 500, 34.0)),
    800: (Medium("DAC", 2, 0.1), Medium("SR", 50, 17.0), Medium("DR", 500, 17.0)),
    400: (Medium("DAC", 3, 0.1), Medium("SR", 50, 8.5), Medium("DR", 500, 8.5)),
    200: (Medium("DAC", 2, 0.1), Medium("AOC", 100, 6.0), Medium("DR", 500, 6.0)),
    100: (Medium("DAC", 5, 0.1), Medium("AOC", 100, 3.5), Medium("DR", 500, 3.5)),
    25: (Medium("DAC", 5, 0.1), Medium("AOC", 100, 1.0), Medium("LR", 500, 1.0)),
    1: (Medium("Cat6", 100, 0.0), Medium("LX", 500, 1.0)),
}  # 1.6T: twice the 800G transceiver, none is published


def media(bits_per_s: float) -> tuple[Medium, ...]:
    """Classes of cable for a port, the cheapest and shortest first."""
    rate = bits_per_s / 1e9
    return _MEDIA[min((each for each in _MEDIA if each >= rate), default=max(_MEDIA))]


def medium(bits_per_s: float, length_m: float) -> Medium:
    """The first class that reaches so far; the one that reaches farthest where none does."""
    known = media(bits_per_s)
    return next((each for each in known if each.reach_m >= length_m), known[-1])


def schedule(fabric: Fabric, hall: Hall = HALL) -> list[Cable]:
    """All cables of all planes, alike ones together: what to order."""
    wanted: Counter[tuple[str, str, int]] = Counter()
    for link, length in lengths(fabric, hall):
        sort = medium(fabric.port_bits_per_s, length).name
        wanted[link.lower.rstrip("0123456789"), sort, length] += link.cables
    order = {"node": 0, "manager": 1, "leaf": 2, "spine": 3}
    return [
        Cable(*key, count)
        for key, count in sorted(wanted.items(), key=lambda item: (order[item[0][0]], item))
    ]


def lengths(fabric: Fabric, hall: Hall = HALL) -> Iterator[tuple[Link, int]]:
    """Every link of one plane with the length that is sold for it."""
    spots = _Spots(fabric, hall)
    for link in links(fabric):
        yield link, spots.length(link)


def optics_w(cables: list[Cable], bits_per_s: float) -> float:
    """Drawn by both ends of all cables."""
    return sum(2 * medium(bits_per_s, cable.length_m).end_w * cable.count for cable in cables)


class _Spots:
    """Racks by name: nodes fill racks in order, leaves stand amid their nodes, the others in the middle."""

    def __init__(self, fabric: Fabric, hall: Hall) -> None:
        self._fabric, self._hall = fabric, hall
        self._racks = math.ceil(fabric.nodes / hall.nodes_per_rack)

    def length(self, link: Link) -> int:
        """Metres, rounded up to what is sold."""
        hall = self._hall
        here, there = self._rack(link.lower), self._rack(link.upper)
        if here == there:
            exact = hall.in_rack_m
        else:
            across = abs(here % hall.racks_per_row - there % hall.racks_per_row) * hall.rack_m
            rows = abs(here // hall.racks_per_row - there // hall.racks_per_row) * hall.row_m
            exact = 2 * hall.rise_m + across + rows
        return next((step for step in LENGTHS_M if step >= exact), math.ceil(exact))

    def _rack(self, name: str) -> int:
        kind = name.rstrip("0123456789")
        number = int(name.removeprefix(kind) or 1) - 1
        if kind == "node":
            return number // self._hall.nodes_per_rack
        clos = self._fabric.clos
        if kind == "leaf" and clos:
            first = number % clos.leaves.units * clos.leaves.nodes_per_leaf
            last = min(first + clos.leaves.nodes_per_leaf, self._fabric.nodes) - 1
            return (first + max(first, last)) // 2 // self._hall.nodes_per_rack
        return self._racks // 2
