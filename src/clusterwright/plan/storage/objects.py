"""Object storage compared with a demand: servers of a Ceph Object Gateway, or request rates of a cloud's S3."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.storage.options import Option
from clusterwright.units import GiB, MiB, human_size

if TYPE_CHECKING:
    from clusterwright.plan.storage.demand import Demand

# 12 servers with NVMe and 100 Gbit/s, erasure coding 2+2, objects of 32 MiB: 111 GiB/s read (Ceph, 2025).
GATEWAY_READ_SHARE = 111 * GiB / 12 / 12.5e9
ERASURE_CODING = 2  # bytes stored for each byte written with 2+2; the write rate is derived from it
BENCHMARK_OBJECT = 32 * MiB
SMALLEST_OBJECT = 1 * MiB  # below, requests limit the rate instead of the network, and no rate was published
GATEWAY_SOURCE = (
    "Ceph, Benchmarking the Object Gateway part 2 (2025): 111 GiB/s read by 12 servers of 100 Gbit/s, objects of"
    " 32 MiB, EC 2+2; writes derived"
)

# One c5n.18xlarge with 100 Gbit/s read 8,003 MB/s from S3 (dvassallo/s3-benchmark, 2019); writes taken as equal.
CLIENT_SHARE = 8.003e9 / 12.5e9
CLIENT_BITS_PER_S = 100e9
GETS_PER_PREFIX = 5_500  # requests/s of each partitioned prefix, Amazon S3 user guide
S3_SOURCE = (
    "Amazon S3 user guide: 5,500 GET and 3,500 PUT requests/s for each partitioned prefix; github.com/dvassallo/"
    "s3-benchmark: 8,003 MB/s to one instance of 100 Gbit/s"
)


def object_options(need: Demand, nodes: int, nic_bits_per_s: float = 100e9) -> tuple[Option, ...]:
    """Compare object storage with the demand; `nic_bits_per_s`: of a storage server, nodes have 100 Gbit/s."""
    return _gateway(need, nic_bits_per_s / 8), _cloud(need, nodes)


def _gateway(need: Demand, line: float) -> Option:
    read, write = line * GATEWAY_READ_SHARE, line * GATEWAY_READ_SHARE / ERASURE_CODING
    servers = max(1, math.ceil(max(need.read_bytes_per_s / read, need.write_bytes_per_s / write)))
    enough = _object_bytes(need) >= SMALLEST_OBJECT
    server_text = _(
        "{count} servers with gateway and disks, in addition to a shared folder for runs", count=servers
    )
    reason = server_text if enough else _shards(need)
    return Option(
        "Ceph RGW",
        enough,
        servers,
        servers * read,
        servers * write,
        servers * read / BENCHMARK_OBJECT,
        reason,
        GATEWAY_SOURCE,
    )


def _cloud(need: Demand, nodes: int) -> Option:
    rate = nodes * CLIENT_BITS_PER_S / 8 * CLIENT_SHARE
    prefixes = max(1, math.ceil(need.opens_per_s / GETS_PER_PREFIX))
    if max(need.read_bytes_per_s, need.write_bytes_per_s) > rate:
        reason = _("the network of {nodes} nodes is slower than the demand", nodes=nodes)
    elif prefixes > 1:
        reason = _(
            "objects in {prefixes} prefixes for {rate:,.0f} requests/s, or in shards; in addition to a shared folder"
            " for runs",
            prefixes=prefixes,
            rate=need.opens_per_s,
        )
    else:
        reason = _("requests are few enough for one prefix; in addition to a shared folder for runs")
    enough = max(need.read_bytes_per_s, need.write_bytes_per_s) <= rate
    return Option(_("S3 of a cloud"), enough, 0, rate, rate, prefixes * GETS_PER_PREFIX, reason, S3_SOURCE)


def _object_bytes(need: Demand) -> float:
    """Return the mean bytes of an object that is read, which is a file; infinite if none is opened."""
    return need.read_bytes_per_s / need.opens_per_s if need.opens_per_s else math.inf


def _shards(need: Demand) -> str:
    return _(
        "objects of {size} are limited by requests: pack the data set into shards (tar, Parquet) of {shard} or more",
        size=human_size(_object_bytes(need)),
        shard=human_size(BENCHMARK_OBJECT),
    )
