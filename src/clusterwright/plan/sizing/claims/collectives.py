"""Claims V3 and V6: bandwidth of collectives, and its effect on throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.collectives import Collective, bus_bw_bytes_per_s
from clusterwright.plan.sizing.claims.claim import Checked, judged
from clusterwright.plan.sizing.claims.hosts import a100_hdr, a100_hdr100, h100_ndr

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine

SIZE = 512 * 2**20  # all_reduce_perf -e 512M
ON_8, ON_32 = (450.0, 510.0), (280.0, 340.0)  # GB/s, default and tuned
IMAGES = (12_300.0, 18_700.0, 23_500.0)  # per second, over TCP, RDMA and GPUDirect RDMA
USED = (0.38, 0.62, 0.92)  # share of the bandwidth


def single_server() -> Checked:
    """Check the claim of 450 to 510 GB/s on 8 GPUs, more than an A100's NVLink carries."""
    a100, h100 = _gb_per_s(a100_hdr(1)), _gb_per_s(h100_ndr(1))
    link = a100_hdr(1).gpu.link_bytes_per_s / 1e9
    return Checked(
        "all-reduce-8",
        "V3",
        _("all_reduce_perf on 8 GPUs: 450 GB/s, tuned 510"),
        ON_8[1],
        a100,
        "GB/s",
        _("bus bandwidth of a 512 MiB all-reduce on one server of 8 A100 with NVSwitch"),
        judged(ON_8[1], a100),
        _(
            "The bus bandwidth of an all-reduce on a server of A100 GPUs cannot exceed the {link:.0f} GB/s that "
            "the NVLink of one A100 carries one way. For all_reduce_perf on a server of 8 H100, the planner "
            "predicts {h100:.0f} GB/s, so the claimed figure fits such a server.",
            link=link,
            h100=h100,
        ),
    )


def four_servers() -> Checked:
    """Judge the guides' claim of 280 to 340 GB/s all-reduce bandwidth on 32 GPUs by the planner's prediction."""
    narrow, a100, h100 = (_gb_per_s(machine) for machine in (a100_hdr100(4), a100_hdr(4), h100_ndr(4)))
    return Checked(
        "all-reduce-32",
        "V3",
        _("all_reduce_perf on 32 GPUs: 280 GB/s, tuned 340"),
        ON_32[1],
        narrow,
        "GB/s",
        _(
            "bus bandwidth of a 512 MiB all-reduce over 4 of the guides' servers, 8 A100 with one HDR100 "
            "port each"
        ),
        judged(ON_32[1], narrow),
        _(
            "With eight HDR ports per server, the planner predicts a bus bandwidth of {a100:.0f} GB/s for an "
            "all-reduce over 4 servers of 8 A100, and with eight NDR ports {h100:.0f} GB/s over 4 servers of 8 "
            "H100. A port of 100 Gbit/s carries at most 12.5 GB/s into a server.",
            a100=a100,
            h100=h100,
        ),
    )


def _gb_per_s(on: Machine) -> float:
    return float(bus_bw_bytes_per_s(Collective.ALL_REDUCE, SIZE, on, on.gpus, on.gpus_per_node)) / 1e9


def transports() -> Checked:
    """Judge the guides' throughputs over TCP, RDMA and GPUDirect RDMA: whether the third follows from the other two.

    Each comes with a share of bandwidth, by which communication takes longer.
    """
    compute, comm = split(IMAGES[:2], USED[:2])
    third = 1 / (compute + comm / USED[2])
    talking = comm / USED[2] * third
    return Checked(
        "tcp-rdma-gpudirect",
        "V6",
        _("TCP, RDMA, GPUDirect RDMA: 12,300, 18,700, 23,500 images/s at 38, 62, 92% of the bandwidth"),
        IMAGES[2],
        third,
        "images/s",
        _(
            "the throughput over GPUDirect RDMA, by time per image = compute + communication / share of the "
            "bandwidth, solved from the throughputs over TCP and RDMA"
        ),
        judged(IMAGES[2], third),
        _(
            "The claimed throughputs over TCP, RDMA and GPUDirect RDMA are consistent with each other. According "
            "to the claimed throughputs, {talking:.0%} of the time over GPUDirect RDMA is still exposed "
            "communication; a job whose all-reduce overlaps the backward pass gains less from RDMA.",
            talking=talking,
        ),
    )


def split(images_per_s: tuple[float, ...], used: tuple[float, ...]) -> tuple[float, float]:
    """Solve for seconds per image of (compute, communication at full bandwidth) from two throughputs."""
    slow, fast = (1 / rate for rate in images_per_s)
    comm = (slow - fast) / (1 / used[0] - 1 / used[1])
    return slow - comm / used[0], comm
