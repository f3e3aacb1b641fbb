"""The files of a host's RDMA ports in /sys/class/infiniband, from the cluster file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from clusterwright.config.cluster import Cluster, Host
from clusterwright.units import GB

# The text after the rate in the file `rate`, by Gbit/s.
LANES = {
    10: "4X SDR", 25: "1X EDR", 40: "4X QDR", 50: "1X HDR", 56: "4X FDR", 100: "4X EDR", 200: "4X HDR",
    400: "4X NDR", 800: "4X XDR",
}  # fmt: skip
# docs.kernel.org, Documentation/ABI/stable/sysfs-class-infiniband
COUNTERS = (
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors", "port_xmit_discards", "port_xmit_constraint_errors",
    "port_rcv_constraint_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
    "VL15_dropped", "port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets",
    "port_xmit_wait", "unicast_xmit_packets", "unicast_rcv_packets", "multicast_xmit_packets",
    "multicast_rcv_packets",
)  # fmt: skip
HW_COUNTERS = (
    "duplicate_request", "implied_nak_seq_err", "lifespan", "local_ack_timeout_err", "np_cnp_sent",
    "np_ecn_marked_roce_packets", "out_of_buffer", "out_of_sequence", "packet_seq_err", "req_cqe_error",
    "resp_cqe_error", "rnr_nak_retry_err", "roce_slow_restart", "rp_cnp_handled", "rx_icrc_encapsulated",
    "rx_read_requests", "rx_write_requests",
)  # fmt: skip
INTERFACE = "compute"  # a lab host's interface on that network
_LID_BASE = 0x10  # the subnet manager and the switches have the lower ones

Files = dict[str, str]


@dataclass(frozen=True, slots=True)
class SimulatedRdma:
    """The ports of one host; all are alike, each the only one of its device."""

    kind: Literal["infiniband", "roce"]
    count: int
    rate_bits_per_s: int
    host: str
    number: int  # number of the host on the network, unique
    address: str

    def device(self, index: int) -> str:
        """Return the device name of RDMA port `index`: `mlx5_0` and so on, as in NCCL_IB_HCA."""
        return f"mlx5_{index}"

    def guid(self, index: int) -> str:
        """Return a GUID of RDMA port `index` like an adapter's, outside every vendor's range."""
        return f"0000:0000:{self.number:04x}:{index:04x}"


def rdma(cluster: Cluster, host: Host) -> SimulatedRdma | None:
    """Return the simulated RDMA ports of a host; None without a compute network, or if that is plain Ethernet."""
    compute, address = cluster.networks.compute, host.addresses.get("compute")
    if compute is None or address is None or compute.kind == "ethernet":
        return None
    number = int(address) - int(compute.subnet.network_address)
    return SimulatedRdma(compute.kind, compute.rails, compute.rate, host.name, number, str(address))


def tree(ports: SimulatedRdma) -> Files:
    """Return the texts of the files of all ports, by path under /sys/class/infiniband."""
    return {
        f"{ports.device(index)}/{path}": f"{text}\n"
        for index in range(ports.count)
        for path, text in {**_device(ports, index), **port(ports, index)}.items()
    }


def _device(ports: SimulatedRdma, index: int) -> Files:
    return {
        "node_type": "1: CA",
        "node_guid": ports.guid(index),
        "sys_image_guid": ports.guid(index),
        "node_desc": f"{ports.host} {ports.device(index)} (simulated)",
        "fw_ver": "SIMULATED",
        "board_id": "SIMULATED",
        "hca_type": "SIMULATED",
        "hw_rev": "0",
        f"device/net/{INTERFACE}/dev_port": "0",
    }


def port(ports: SimulatedRdma, index: int) -> Files:
    """Return the texts of the files of an RDMA port that is up, with counters at zero, by path."""
    infiniband = ports.kind == "infiniband"
    gbits = round(ports.rate_bits_per_s / GB)
    lid = _LID_BASE + ports.number * ports.count + index if infiniband else 0
    files = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": f"{gbits} Gb/sec ({LANES.get(gbits, '4X EDR')})",
        "link_layer": "InfiniBand" if infiniband else "Ethernet",
        "lid": f"0x{lid:x}",
        "lid_mask_count": "0",
        "sm_lid": "0x1" if infiniband else "0x0",
        "sm_sl": "0",
        "cap_mask": "0x2651e848" if infiniband else "0x00010000",
        "pkeys/0": "0xffff",
    }
    files |= {f"counters/{name}": "0" for name in COUNTERS}
    files |= {f"hw_counters/{name}": "0" for name in HW_COUNTERS}
    for position, (gid, kind) in enumerate(_gids(ports, index)):
        files |= {f"gids/{position}": gid, f"gid_attrs/types/{position}": kind}
        files |= {} if infiniband else {f"gid_attrs/ndevs/{position}": INTERFACE}
    return {f"ports/1/{path}": text for path, text in files.items()}


def _gids(ports: SimulatedRdma, index: int) -> Iterator[tuple[str, str]]:
    """Yield GID and type of an RDMA port in a driver's order: for RoCE each address once for either version."""
    yield f"fe80:0000:0000:0000:{ports.guid(index)}", "IB/RoCE v1"
    if ports.kind == "infiniband":
        return
    yield f"fe80:0000:0000:0000:{ports.guid(index)}", "RoCE v2"
    high, low = (
        "".join(f"{int(part):02x}" for part in pair)
        for pair in (ports.address.split(".")[:2], ports.address.split(".")[2:])
    )
    for kind in ("IB/RoCE v1", "RoCE v2"):
        yield f"0000:0000:0000:0000:0000:ffff:{high}:{low}", kind
