"""`Machine` of a row of published training throughput, from columns `accel_interconnect` and `host_networking`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.collectives.rows import (
    BRIDGE_BYTES_PER_S,
    SMALL_BRIDGE_BYTES_PER_S,
    STACKED_MEMORY_BYTES_PER_S,
)
from clusterwright.plan.machines import GBIT_BYTES, NODE_GPUS, REFERENCE_PORTS, usual_node
from clusterwright.plan.run import Machine, Network

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.catalog.records import Gpu


def machine_of(row: Mapping[str, str], chip: Gpu, notes: list[str]) -> Machine:
    """Return the machine of a row: all its GPUs, with the NVLink and the network that its text names.

    Appends what was inferred to `notes`.
    """
    gpus = _integer(row, "num_gpus") or 1
    nodes = _integer(row, "num_nodes") or 0
    per_node = _integer(row, "gpus_per_node") or (gpus // nodes if nodes else 0)
    per_node = per_node or min(gpus, max(NODE_GPUS, usual_node(chip)))
    network = _network(row, chip, per_node, notes) if gpus > per_node else Network(kind="none")
    return _joined(Machine(chip, gpus, per_node, 1, network), row, notes)


def _joined(machine: Machine, row: Mapping[str, str], notes: list[str]) -> Machine:
    interconnect, chip = row.get("accel_interconnect", "").lower(), machine.gpu
    if machine.gpus_per_node < 2:
        return machine
    if "nvlink" in interconnect and not chip.link_bytes_per_s:  # cards: bridges between pairs
        small = chip.memory_bytes_per_s < STACKED_MEMORY_BYTES_PER_S
        rate = SMALL_BRIDGE_BYTES_PER_S if small else BRIDGE_BYTES_PER_S
        return replace(machine, gpu=replace(chip, link_bytes_per_s=rate), nvlink_domain=2)
    if chip.link_bytes_per_s and not _virtual(row, machine):
        return replace(machine, nvlink_domain=machine.gpus_per_node)
    if not interconnect:
        notes.append(_("no NVLink: PCIe within the node"))
    return replace(machine, nvlink_domain=1)


def _virtual(row: Mapping[str, str], machine: Machine) -> bool:
    """True for a row of V100s whose system names a cloud (Lambda's): virtual machines without NVLink between GPUs."""
    return "cloud" in row.get("system", "").lower() and machine.gpu.arch == "Volta"


def _network(row: Mapping[str, str], chip: Gpu, per_node: int, notes: list[str]) -> Network:
    text = row.get("host_networking", "").lower()
    parts = re.split(r"[,;+]|\bmanagement\b|\bstorage\b", text)
    compute = [part for part in parts if "compute" in part]
    port_groups = [ports for part in compute or parts if (ports := _ports(part))]
    kind = "infiniband" if re.search(r"\bib\b|infiniband|hdr|ndr|edr", text) else "ethernet"
    if "roce" in text:
        kind = "roce"
    if port_groups:
        count, gbits = max(port_groups, key=lambda group: group[0] * group[1])
        return Network(kind, count, gbits * GBIT_BYTES)
    count, gbits = REFERENCE_PORTS.get((chip.arch, per_node), (per_node, 200))
    text = _(
        "no network given: assumed {count} x {gbits} Gbit/s per node, as in the vendor's reference system",
        count=count,
        gbits=gbits,
    )
    notes.append(text)
    return Network("infiniband", count, gbits * GBIT_BYTES)


def _ports(text: str) -> tuple[float, float] | None:
    """Parse (ports, Gbit/s per port) of a lower-case text: `8x connectx-6 ib hdr 200gb/sec` is (8, 200).

    One port if there is no count; None if there is no rate.
    """
    rate = re.search(r"(\d+)\s*g(?:b|ig|be)", text)
    if not rate:
        return None
    count = re.search(r"(\d+)\s*x\b", text)
    return (float(count[1]) if count else 1.0), float(rate[1])


def _integer(row: Mapping[str, str], name: str) -> int | None:
    match = re.match(r"\s*(\d+)", row.get(name, "") or "")
    return int(match[1]) if match else None
