"""Local NVMe, NFS, Lustre, Storage Scale and CephFS against a demand: how many servers, or why not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.storage.raid import Disk, array

if TYPE_CHECKING:
    from clusterwright.plan.storage.demand import Demand

REPLICAS = 3  # CephFS's default replication; each byte written crosses the servers' network that often


@dataclass(frozen=True, slots=True)
class System:
    """One kind of shared file system, by what one of its servers was measured to give."""

    name: str
    read_share: float  # of a server's network that clients read
    write_share: float
    opens_per_s: float  # of one metadata server: files looked up and opened
    scales: bool  # by adding data servers
    metadata_scales: bool
    source: str


WRITTEN = (
    16.7 / 23
)  # bytes written over bytes read a second, Dell PixStor; taken for all where none was published
LOOKUPS_PER_CREATE = 4  # opens to a create: an estimate, where no rate of lookups was published

SYSTEMS = (
    System(
        "NFS", 5.9 / 12.5, 5.9 / 12.5 * WRITTEN, 16e3 * LOOKUPS_PER_CREATE, scales=False, metadata_scales=False,
        source="Dell NSS7.0-HA white papers: 5.9 GB/s read over 100 Gbit/s, 16,000 creates/s from 512 clients;"
        " writes and opens estimated",
    ),
    System(
        "Lustre", 23 / 25, 16.7 / 25, 400e3, scales=True, metadata_scales=True,
        source="Dell Storage for HPC with Intel EE for Lustre, mdtest on one metadata server: 15,000 creates/s,"
        " 400,000 stats/s; data as Storage Scale",
    ),
    System(
        "Storage Scale", 23 / 25, 16.7 / 25, 400e3, scales=True, metadata_scales=True,
        source="Dell PixStor, two servers of 100 Gbit/s: 23 GB/s read, 16.7 GB/s written; metadata as Lustre",
    ),
    System(
        "CephFS", 23 / 25, 23 / 25 / REPLICAS, 131e3 / 61 * LOOKUPS_PER_CREATE, scales=True, metadata_scales=True,
        source="mdtest on 61 metadata servers: 131,000 creates/s, github.com/ceph/ceph pull 34574 and 58861; opens"
        " estimated; data: the servers' network as Storage Scale, every byte written three times",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Option:
    """One way to store, held against a demand."""

    name: str
    enough: bool
    servers: int  # that it takes: data and metadata
    read_bytes_per_s: float  # that they give
    write_bytes_per_s: float
    opens_per_s: float
    reason: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Staging:
    """Copying the dataset to the nodes' own disks before training."""

    fits: bool
    pays: bool
    seconds: float  # the copy takes
    share_bytes: float  # of the dataset on one node
    reason: str


def options(
    need: Demand, nodes: int, nic_bits_per_s: float = 100e9, disks: int = 4, disk: Disk | None = None
) -> tuple[Option, ...]:
    """Every kind, held against the demand; `nic_bits_per_s`: of one storage server; `disks` of one node."""
    local = _local(need, nodes, disks, disk or Disk())
    return (local, *(_shared(system, need, nic_bits_per_s / 8) for system in SYSTEMS))


def _shared(system: System, need: Demand, line: float) -> Option:
    needed_servers = max(
        need.read_bytes_per_s / (line * system.read_share),
        need.write_bytes_per_s / (line * system.write_share),
    )
    data, metadata = (
        max(1, math.ceil(needed_servers)),
        max(1, math.ceil(need.opens_per_s / system.opens_per_s)),
    )
    short = [
        text
        for over, text in (
            (data > 1 and not system.scales, f"{data} servers' bandwidth is wanted, and it has one"),
            (metadata > 1 and not system.metadata_scales, f"{need.opens_per_s:,.0f} opens/s are wanted"),
        )
        if over
    ]
    servers = data + (metadata if system.scales else 0)
    reason = "; ".join(short) or (
        f"{data} data and {metadata} metadata servers" if system.scales else "one server is enough"
    )
    count = data if system.scales else 1
    return Option(
        system.name,
        not short,
        servers if system.scales else 1,
        count * line * system.read_share,
        count * line * system.write_share,
        (metadata if system.metadata_scales else 1) * system.opens_per_s,
        reason,
        system.source,
    )


def _local(need: Demand, nodes: int, disks: int, disk: Disk) -> Option:
    local_array = array("0", disks, disk)
    fits_on_nodes = need.dataset_bytes <= nodes * local_array.usable_bytes
    reason = (
        _("fast, but a checkpoint on it is lost with its node: beside a shared file system, not instead")
        if fits_on_nodes
        else _("the dataset does not fit on {nodes} nodes", nodes=nodes)
    )
    return Option(
        "local NVMe",
        enough=False,
        servers=0,
        read_bytes_per_s=nodes * local_array.read_bytes_per_s,
        write_bytes_per_s=nodes * local_array.write_bytes_per_s,
        opens_per_s=nodes * local_array.read_iops,
        reason=reason,
    )


def staging(
    need: Demand, shared: Option, nodes: int, epochs: float = 1.0, disks: int = 4, disk: Disk | None = None
) -> Staging:
    """Whether to copy the dataset to the nodes first.

    Every node takes the whole dataset where it fits, else its share. It pays when the shared system cannot feed the
    GPUs, and the copy takes less time than the GPUs would wait.
    """
    local_array = array("0", disks, disk)
    is_replicated = need.dataset_bytes <= local_array.usable_bytes
    share = need.dataset_bytes if is_replicated else need.dataset_bytes / nodes
    fits_on_nodes = share <= local_array.usable_bytes
    seconds = max(need.dataset_bytes / shared.read_bytes_per_s, share / local_array.write_bytes_per_s)
    slow = max(need.read_bytes_per_s / shared.read_bytes_per_s, need.opens_per_s / shared.opens_per_s, 1.0)
    waited = (slow - 1) * need.epoch_s * epochs if slow > 1 else 0.0
    pays = fits_on_nodes and seconds < waited
    return Staging(
        fits_on_nodes,
        pays,
        seconds,
        share,
        _why_stage(fits_on_nodes=fits_on_nodes, pays=pays, slow=slow, is_replicated=is_replicated),
    )


def _why_stage(*, fits_on_nodes: bool, pays: bool, slow: float, is_replicated: bool) -> str:
    if not fits_on_nodes:
        return "the nodes' disks do not hold it; read it from the shared file system in large shards"
    placement = "all of it on every node" if is_replicated else "each node its share"
    if pays:
        return f"the shared file system is wanted {slow:.1f} times over; stage {placement}"
    if slow > 1:
        return f"wanted {slow:.1f} times over, but copying takes longer than the waiting; pack the files into shards"
    return "the shared file system keeps up; stage only to leave it to others"
