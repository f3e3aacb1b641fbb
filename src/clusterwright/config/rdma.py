"""RDMA: who drives the adapters, how RoCE is kept whole, who manages the subnet, what jobs are told of it."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostName, Version

_MOST_PRIORITY, _MOST_DSCP = 7, 63  # IEEE 802.1Q: 3 bits; RFC 2474: 6 bits
_MOST_SM_PRIORITY = 15  # InfiniBand specification: 4 bits
_LARGEST_MTU = 65535


class Roce(Section):
    """How RoCE v2 is told from other traffic, and kept from being lost; the switches have to say the same."""

    priority: int = setting(
        "The one of eight priorities that is paused and never dropped (PFC).",
        cost=Cost.DRAIN, default=3, example="3", least=0, most=_MOST_PRIORITY,
    )  # fmt: skip
    dscp: int = setting(
        "DSCP of its packets, by which switches and adapters know the priority.",
        cost=Cost.DRAIN, default=26, example="26", least=0, most=_MOST_DSCP,
    )  # fmt: skip
    ecn: bool = setting(
        "Senders slow down when a switch marks packets (ECN, DCQCN).",
        cost=Cost.DRAIN, default=True, example="true",
    )  # fmt: skip
    cnp_dscp: int = setting(
        "DSCP of the packets that tell a sender to slow down.",
        cost=Cost.DRAIN, default=48, example="48", least=0, most=_MOST_DSCP,
    )  # fmt: skip


class SubnetManager(Section):
    """A host that runs opensm."""

    host: HostName = setting("A host on the InfiniBand network.", cost=Cost.REBOOT, example="control1")
    priority: int = setting(
        "The highest is master; the others stand by.",
        cost=Cost.REBOOT, default=14, example="14", least=0, most=_MOST_SM_PRIORITY,
    )  # fmt: skip


class Rdma(Section):
    """What hosts on an InfiniBand or RoCE network have."""

    driver: Literal["inbox", "doca-ofed", "mlnx-ofed"] = setting(
        "Whose drivers: the distribution's (rdma-core), or NVIDIA's from a repository of the site's.",
        cost=Cost.REBOOT, default="inbox", example="doca-ofed",
    )  # fmt: skip
    driver_version: Version | None = setting(
        "Version of NVIDIA's, or what it begins with.", cost=Cost.REBOOT, default=None, example='"3.1"'
    )
    gpudirect: Literal["auto", "peermem", "nv-peer-mem", "dma-buf", "off"] = setting(
        "How adapters reach the memory of GPUs; auto: what driver and kernel offer.",
        cost=Cost.DRAIN, default="auto", example="dma-buf",
    )  # fmt: skip
    roce: Roce = setting("How RoCE is marked and kept whole.", cost=Cost.DRAIN, default=Roce)
    switch_mtu: int | None = setting(
        "Largest packet of the switches' ports, if it is to be held against the networks'.",
        default=None, example="9216", least=1280, most=_LARGEST_MTU,
    )  # fmt: skip
    subnet_managers: tuple[SubnetManager, ...] = setting(
        "Hosts that run opensm, where no switch does.", cost=Cost.REBOOT, default=()
    )
    topology_file: bool = setting(
        "NCCL's topology file from each host's own PCI tree; virtual machines may need one, bare metal does not.",
        default=False, example="true",
    )  # fmt: skip
    mpi: bool = setting("Open MPI and UCX, and their settings.", default=True, example="true")
    mpi_default: Literal["none", "pmix"] = setting(
        "What `srun` does without --mpi; pmix where Slurm's plugin for it is there.",
        cost=Cost.RESTART, default="none", example="pmix",
    )  # fmt: skip
