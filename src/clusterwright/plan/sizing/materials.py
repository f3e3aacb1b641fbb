"""Bill of materials of a cluster: servers, three networks, storage, racks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.catalog import parts
from clusterwright.catalog.prices import age_warning, common_currency, price
from clusterwright.catalog.records import Deal, Price
from clusterwright.i18n import N_, _, _n
from clusterwright.plan.cost.figures import Estimate, priced
from clusterwright.plan.cost.inputs import server_of
from clusterwright.plan.fabric.cables import schedule
from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.networks import OUT_OF_BAND_SWITCH, networks
from clusterwright.plan.fabric.parts import FabricKind, FabricSwitch
from clusterwright.plan.parameters import count
from clusterwright.plan.power import LIMITS, hall, node_of, node_power
from clusterwright.plan.storage import Demand, Option, Workload, demand, options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.catalog.records import Server
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.fabric.networks import Networks
    from clusterwright.plan.fabric.parts import Fabric
    from clusterwright.plan.power import Hall
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.fewest import Sized


# Items of the price list that are no parts of the catalog, and their labels.
RACK, PDU, STORAGE_SERVER = "rack-42u", "pdu-three-phase", "storage-server"
_LABELS = {
    RACK: N_("rack of 42 U"),
    PDU: N_("PDU, three-phase, metered"),
    STORAGE_SERVER: N_("storage server without drives"),
}
DRIVES_A_SERVER, STORAGE_DRIVE = 24, "nvme-gen4-7.68tb"  # a common 2U server has 24 bays of 2.5 inches
PDUS_A_RACK = 2  # one on each feed
TOKEN_BYTES = 4
FILE_BYTES = 1e9  # token files are packed into large ones
MINUTE_S = 60.0
USABLE = 0.5  # of drives in RAID 10


@dataclass(frozen=True, slots=True)
class Materials:
    """The bill of materials, with the networks, hall and storage that it contains."""

    bill: Bill
    networks: Networks | None  # None: one server needs no fabric
    hall: Hall | None  # None: the power of the GPU is not known
    storage: Option | None  # None: no system is sufficient
    demand: Demand


def materials(size: Sized, machine: Machine, user_catalog: UserCatalog | None = None) -> Materials:
    """Compute what to buy for a cluster that runs a workload; `machine`: the whole cluster.

    A single node has no networks but one management switch; storage and racks are left out where none can be planned.

    Raises:
        WrightError: currency-mixed.
    """
    need, nodes = _demand(size), math.ceil(machine.gpus / machine.gpus_per_node)
    server = server_of(machine.gpu, user_catalog)
    storage_option = next((option for option in options(need, nodes) if option.enough), None)
    nets = (
        networks(_compute(machine, nodes, user_catalog), storage_option.servers if storage_option else 1)
        if nodes > 1
        else None
    )
    housed = _housed(machine, nodes, server, nets)
    lines = [
        *_servers(machine, nodes, server, user_catalog),
        *(_fabrics(nets, user_catalog) if nets else [_management_switch(user_catalog)]),
        *_storage(storage_option, need, user_catalog),
        *(_racks(housed, user_catalog) if housed else ()),
    ]
    return Materials(bill(lines), nets, housed, storage_option, need)


def _demand(size: Sized) -> Demand:
    """Return the demand on storage: tokens of an epoch, and checkpoints at the optimal interval for the nodes."""
    work = size.workload
    tokens = work.samples * work.training.seq_len
    return demand(
        Workload(
            parameters=count(work.training.architecture).total,
            dataset_bytes=tokens * TOKEN_BYTES,
            samples=work.samples,
            samples_per_s=size.tokens_per_s / work.training.seq_len,
            files=max(1.0, tokens * TOKEN_BYTES / FILE_BYTES),
            precision=work.training.precision,
            checkpoint_every_s=max(MINUTE_S, size.goodput.checkpoint_every_s),
        )
    )


def _compute(machine: Machine, nodes: int, user_catalog: UserCatalog | None) -> Fabric:
    """Design the compute fabric: a fat tree without oversubscription over all ports of the nodes."""
    rate = int(machine.network.nic_bytes_per_s * 8)
    return design(
        FabricKind.FAT_TREE,
        nodes,
        int(machine.network.nics),
        _switch(machine.network.kind, rate, user_catalog),
    )


def _switch(kind: str, rate: int, user_catalog: UserCatalog | None) -> FabricSwitch:
    """Return the best switch with ports of this rate, also by splitting ports twice as fast.

    Priced ones come first, then those of the exact rate, then those with most ports. Without one: 64 ports of this
    rate, without a price.
    """
    protocol = "infiniband" if kind == "infiniband" else "ethernet"
    switches = [*(user_catalog.switches.values() if user_catalog else ()), *parts.switches().values()]
    fitting = [
        switch
        for switch in switches
        if switch.protocol == protocol and switch.port_bits_per_s in {rate, 2 * rate}
    ]
    if not fitting:
        return FabricSwitch(64, rate, _("64 ports of {rate:g} Gbit/s", rate=rate / 1e9), protocol)
    best = max(
        fitting,
        key=lambda switch: (
            _has_price(switch.name, user_catalog),
            switch.port_bits_per_s == rate,
            switch.ports,
        ),
    )
    times = round(best.port_bits_per_s / rate)
    return FabricSwitch(best.ports * times, rate, best.name, protocol, best.power_w)


def _housed(machine: Machine, nodes: int, server: Server | None, nets: Networks | None) -> Hall | None:
    if not machine.gpu.power_w:
        return None
    rated_w = server.power_w if server and server.gpus >= machine.gpus_per_node else 0.0
    node = node_of(machine.gpu, machine.gpus_per_node, rated_w, int(machine.network.nics) or 1)
    units = math.ceil(nodes * machine.gpus_per_node / node.gpus)  # superchips are sold by the rack
    limits = replace(LIMITS, rack_w=max(LIMITS.rack_w, node_power(node).planned_w))
    fabrics = (nets.compute, nets.storage, nets.management) if nets else ()
    return hall(node, units, limits, sum(fabric.switch_power_w for fabric in fabrics))


def _servers(
    machine: Machine, nodes: int, server: Server | None, user_catalog: UserCatalog | None
) -> Iterator[BillLine]:
    gpus = nodes * machine.gpus_per_node
    if server is None:
        reason = _("the catalog has no server with {gpu}", gpu=machine.gpu.name)
        yield BillLine(
            "server",
            _("server with {count} x {gpu}", count=machine.gpus_per_node, gpu=machine.gpu.name),
            nodes,
            None,
            reason,
        )
        return
    reason = _(
        "{count} x {gpu}, {cores} cores, {memory:g} GB, drives, NICs",
        count=server.gpus,
        gpu=server.gpu,
        cores=server.cores,
        memory=server.memory_bytes / 1e9,
    )
    number = math.ceil(gpus / server.gpus)
    yield BillLine("server", server.name, number, price(server.name, Deal.OWNED, user_catalog), reason)
    nics = nodes * int(machine.network.nics) - number * server.nics
    if machine.network.kind != "none" and nics > 0:
        name = _nic(machine, user_catalog)
        yield BillLine(
            "NIC", name, nics, price(name, Deal.OWNED, user_catalog), _("more ports than the server includes")
        )


def _nic(machine: Machine, user_catalog: UserCatalog | None) -> str:
    rate = machine.network.nic_bytes_per_s * 8
    nics = {**parts.nics(), **(user_catalog.nics if user_catalog else {})}
    fitting = [name for name, nic in nics.items() if abs(nic.port_bits_per_s - rate) < 1]
    return max(
        fitting,
        key=lambda name: _has_price(name, user_catalog),
        default=_("NIC of {rate:g} Gbit/s", rate=rate / 1e9),
    )


def _has_price(item: str, user_catalog: UserCatalog | None) -> bool:
    """True if the catalog has a purchase price for the item."""
    return price(item, Deal.OWNED, user_catalog) is not None


def _management_switch(user_catalog: UserCatalog | None) -> BillLine:
    name = OUT_OF_BAND_SWITCH
    return BillLine(
        "switch",
        name,
        1,
        price(name, Deal.OWNED, user_catalog),
        _("management; one server needs no other network"),
    )


def _fabrics(nets: Networks, user_catalog: UserCatalog | None) -> Iterator[BillLine]:
    named = {_("compute"): nets.compute, _("storage"): nets.storage, _("management"): nets.management}
    for network, fabric in named.items():
        name = fabric.switch.name.lower()
        reason = _n(
            "{network}: {kind}, {count} level",
            "{network}: {kind}, {count} levels",
            fabric.tiers,
            network=network,
            kind=fabric.kind,
        )
        yield BillLine("switch", name, fabric.switches, price(name, Deal.OWNED, user_catalog), reason)
    for network, fabric in named.items():
        rate = fabric.port_bits_per_s / 1e9
        cables: Counter[str] = Counter()
        for cable in schedule(fabric):
            cables[f"{cable.medium.lower()}-{rate:g}"] += cable.count
        for name, number in cables.items():
            yield BillLine("cable", name, number, price(name, Deal.OWNED, user_catalog), network)


def _storage(
    storage_option: Option | None, need: Demand, user_catalog: UserCatalog | None
) -> Iterator[BillLine]:
    if storage_option is None:
        yield BillLine(
            "storage",
            _("shared storage"),
            1,
            None,
            _("no single system is sufficient: see `wright plan storage`"),
        )
        return
    drive = parts.storage(STORAGE_DRIVE, user_catalog)
    drives = max(storage_option.servers * 2, math.ceil(need.capacity_bytes / USABLE / drive.capacity_bytes))
    servers = max(storage_option.servers, math.ceil(drives / DRIVES_A_SERVER))
    yield BillLine(
        "storage",
        _(_LABELS[STORAGE_SERVER]),
        servers,
        price(STORAGE_SERVER, Deal.OWNED, user_catalog),
        f"{storage_option.name}: {storage_option.reason}",
    )
    reason = _("{size:.2g} TB of data and checkpoints, in RAID 10", size=need.capacity_bytes / 1e12)
    yield BillLine("storage", drive.name, drives, price(drive.name, Deal.OWNED, user_catalog), reason)


def _racks(housed: Hall, user_catalog: UserCatalog | None) -> Iterator[BillLine]:
    reason = _(
        "up to {count} nodes per rack, {power:.0f} kW, cooling: {cooling}",
        count=housed.nodes_per_rack,
        power=housed.rack_w / 1e3,
        cooling=_(housed.cooling),
    )
    rack, pdu = (price(item, Deal.OWNED, user_catalog) for item in (RACK, PDU))
    yield BillLine("rack", _(_LABELS[RACK]), housed.racks, rack, reason)
    yield BillLine(
        "rack",
        _(_LABELS[PDU]),
        housed.racks * PDUS_A_RACK,
        pdu,
        _("one PDU for each of the two power feeds of a rack"),
    )


@dataclass(frozen=True, slots=True)
class BillLine:
    """One item of the bill; `price` None if none is known."""

    kind: str  # server, switch, cable, storage, rack
    item: str
    count: int
    price: Price | None
    reason: str = ""

    @property
    def total(self) -> Estimate | None:
        """Price of all units; None if no price is known."""
        return priced(self.price).times(self.count, self.price.currency) if self.price else None


@dataclass(frozen=True, slots=True)
class Bill:
    """A bill of materials in one currency."""

    lines: tuple[BillLine, ...]
    currency: str

    @property
    def total(self) -> Estimate:
        """Total of the lines with a price; low and high are bounds."""
        total = Estimate(0, 0, 0, self.currency, _("the bill of materials"))
        for line in self.lines:
            total = total + line.total if line.total else total
        return total

    @property
    def without_price(self) -> tuple[str, ...]:
        """Items that the total leaves out for lack of a price, in the order of the lines; empty if all have one."""
        return tuple(line.item for line in self.lines if line.price is None)

    def old(self, today: str) -> tuple[str, ...]:
        """Return items whose price is older than half a year on the day `today` (YYYY-MM-DD)."""
        aged = (line.item for line in self.lines if line.price and age_warning(line.price, today))
        return tuple(dict.fromkeys(aged))

    def filter_kinds(self, *kinds: str) -> Bill:
        """Return the bill with only the lines of these kinds."""
        return Bill(tuple(line for line in self.lines if line.kind in kinds), self.currency)


def bill(lines: Iterable[BillLine]) -> Bill:
    """Return the lines with a count above 0 as a bill.

    Raises:
        WrightError: currency-mixed, with both locations.
    """
    bought = tuple(line for line in lines if line.count > 0)
    return Bill(bought, common_currency(line.price for line in bought if line.price))
