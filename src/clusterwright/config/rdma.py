"""RDMA: drivers, lossless RoCE, subnet managers, and settings for jobs."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostName, Version

_MOST_PRIORITY, _MOST_DSCP = 7, 63  # IEEE 802.1Q: 3 bits; RFC 2474: 6 bits
_MOST_SM_PRIORITY = 15  # InfiniBand specification: 4 bits
_LARGEST_MTU = 65535


class Roce(Section):
    """Marking and flow control of RoCE v2; the switches need the same settings."""

    priority: int = setting(
        "Lossless priority of RoCE traffic (PFC).",
        cost=Cost.DRAIN, default=3, example="3", least=0, most=_MOST_PRIORITY,
    )  # fmt: skip
    dscp: int = setting(
        "DSCP of RoCE packets; switches and adapters map it to the priority.",
        cost=Cost.DRAIN, default=26, example="26", least=0, most=_MOST_DSCP,
    )  # fmt: skip
    ecn: bool = setting(
        "Congestion control: senders slow down when a switch marks packets (ECN, DCQCN).",
        cost=Cost.DRAIN, default=True, example="true",
    )  # fmt: skip
    cnp_dscp: int = setting(
        "DSCP of congestion notification packets (CNP).",
        cost=Cost.DRAIN, default=48, example="48", least=0, most=_MOST_DSCP,
    )  # fmt: skip


class SubnetManager(Section):
    """A host that runs opensm."""

    host: HostName = setting("A host on the InfiniBand network.", cost=Cost.REBOOT, example="control1")
    priority: int = setting(
        "Priority of this subnet manager: the highest becomes master, the others are standby.",
        cost=Cost.REBOOT, default=14, example="14", least=0, most=_MOST_SM_PRIORITY,
    )  # fmt: skip


class Rdma(Section):
    """RDMA settings of hosts on an InfiniBand or RoCE network."""

    driver: Literal["inbox", "doca-ofed", "mlnx-ofed"] = setting(
        "RDMA drivers: inbox are the distribution's (rdma-core), the others NVIDIA's, from a repository of the site.",
        cost=Cost.REBOOT, default="inbox", example="doca-ofed",
    )  # fmt: skip
    driver_version: Version | None = setting(
        "Version of NVIDIA's RDMA drivers (doca-ofed or mlnx-ofed), or its beginning; default: any version.",
        cost=Cost.REBOOT,
        default=None,
        example='"3.1"',
    )
    gpudirect: Literal["auto", "peermem", "nv-peer-mem", "dma-buf", "off"] = setting(
        "GPUDirect RDMA method; auto: what the driver and the kernel support.",
        cost=Cost.DRAIN, default="auto", example="dma-buf",
    )  # fmt: skip
    roce: Roce = setting("Marking and flow control of RoCE.", cost=Cost.DRAIN, default=Roce)
    switch_mtu: int | None = setting(
        "MTU of the switch ports; if set, the MTUs of the networks are checked against it.",
        default=None, example="9216", least=1280, most=_LARGEST_MTU,
    )  # fmt: skip
    subnet_managers: tuple[SubnetManager, ...] = setting(
        "Hosts that run opensm, if no switch has a subnet manager.", cost=Cost.REBOOT, default=()
    )
    topology_file: bool = setting(
        "Generate an NCCL topology file from each host's PCI tree, which some virtual machines need.",
        default=False, example="true",
    )  # fmt: skip
    mpi: bool = setting("Install and configure Open MPI and UCX.", default=True, example="true")
    mpi_default: Literal["none", "pmix"] = setting(
        "Slurm's MpiDefault, for `srun` without --mpi; pmix needs Slurm's PMIx plugin.",
        cost=Cost.RESTART, default="none", example="pmix",
    )  # fmt: skip
