"""Local NVMe, NFS, Lustre, Storage Scale and CephFS compared with a demand: number of servers, or why not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.storage.raid import Disk, array

if TYPE_CHECKING:
    from clusterwright.plan.storage.demand import Demand

REPLICAS = 3  # CephFS's default replication; each byte written crosses the servers' network as often


@dataclass(frozen=True, slots=True)
class System:
    """One kind of shared file system, with the measured performance of one server."""

    name: str
    read_share: float  # read rate of clients over the server's network rate
    write_share: float
    opens_per_s: float  # per metadata server: files looked up and opened
    scales: bool  # by adding data servers
    metadata_scales: bool
    source: str


WRITTEN = 16.7 / 23  # write over read rate, Dell PixStor; used where no write rate was published
LOOKUPS_PER_CREATE = 4  # opens per create: an estimate, where no rate of lookups was published

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
    """One storage system compared with a demand."""

    name: str
    enough: bool
    servers: int  # required: data and metadata
    read_bytes_per_s: float  # of these servers
    write_bytes_per_s: float
    opens_per_s: float
    reason: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Staging:
    """Whether to copy the data set to the nodes' disks before training."""

    fits_node: bool
    pays: bool
    seconds: float  # duration of the copy
    share_bytes: float  # part of the data set on one node
    reason: str


def options(
    need: Demand, nodes: int, nic_bits_per_s: float = 100e9, disks: int = 4, disk: Disk | None = None
) -> tuple[Option, ...]:
    """Compare every storage system with the demand; `nic_bits_per_s`: of a storage server; `disks`: of a node."""
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
            (
                data > 1 and not system.scales,
                _("the demand needs the bandwidth of {count} servers, and the system has one", count=data),
            ),
            (
                metadata > 1 and not system.metadata_scales,
                _("the demand of {rate:,.0f} opens/s exceeds one server", rate=need.opens_per_s),
            ),
        )
        if over
    ]
    servers = data + (metadata if system.scales else 0)
    reason = "; ".join(short) or (
        _("{data} data and {metadata} metadata servers", data=data, metadata=metadata)
        if system.scales
        else _("one server is sufficient")
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
        _("fast, but a checkpoint on it is lost with its node: use it in addition to a shared file system")
        if fits_on_nodes
        else _("the data set does not fit on {nodes} nodes", nodes=nodes)
    )
    return Option(
        _("local NVMe"),
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
    """Decide whether to copy the data set to the nodes' `disks` local disks before a training of `epochs` epochs.

    Every node gets the whole data set if it fits, else its share. Staging pays off if the shared system is too slow for
    the GPUs, and the copy takes less time than the GPUs would wait.
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
        return _(
            "the data set does not fit on the nodes' disks; read it from the shared file system in large shards"
        )
    if pays and is_replicated:
        return _(
            "the shared file system is {times:.1f} times too slow; stage the data set on every node",
            times=slow,
        )
    if pays:
        return _(
            "the shared file system is {times:.1f} times too slow; stage a share on each node", times=slow
        )
    if slow > 1:
        return _(
            "the shared file system is {times:.1f} times too slow, but staging takes longer than it saves; pack "
            "the files into shards",
            times=slow,
        )
    return _("the shared file system is fast enough; use `stage: local` only to relieve it for other jobs")
