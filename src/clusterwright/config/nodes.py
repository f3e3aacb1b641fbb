"""Node groups: their hosts, hardware, disks and firmware."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PrivateAttr, WithJsonSchema

from clusterwright.config.distribution import Os
from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.memoize import cache_per_instance
from clusterwright.config.names import ConfLine, Hostlist, HostPath, Identifier, RdmaDevice, SlurmKey, expand
from clusterwright.config.networks import NetworkName
from clusterwright.config.quantities import Size
from clusterwright.config.storage import Quota
from clusterwright.i18n import N_, _
from clusterwright.platforms import EXAMPLE
from clusterwright.units import MiB


class Disk(Section):
    """Equal local disks of a host."""

    kind: Literal["nvme", "ssd", "hdd"] = setting(
        "Type of the disks.", cost=Cost.DRAIN, default="nvme", example="nvme"
    )
    count: int = setting("Number of disks.", cost=Cost.DRAIN, default=1, example="4", least=1, most=128)
    size: Size = setting("Size of one disk.", cost=Cost.DRAIN, example="3.84TB")
    mount: HostPath | None = setting(
        "Mount point, the scratch folder of jobs.", cost=Cost.DRAIN, default=None, example="/scratch"
    )
    filesystem: Literal["xfs", "ext4"] | None = setting(
        "File system to create on empty disks; not set: the site creates and mounts it.",
        cost=Cost.REBUILD, default=None, example="xfs",
    )  # fmt: skip
    raid: Literal["none", 0, 10] = setting(
        "RAID level that joins the disks: 0 is fastest and fails with any disk, 10 mirrors everything, for"
        " metadata and durable data; none: a single disk.",
        cost=Cost.REBUILD, default="none", example="0",
    )  # fmt: skip
    quota: Quota | None = setting("Quotas of users on the disk; only with `filesystem`.", default=None)


class Firmware(Section):
    """Expected firmware settings. Checks compare hosts with them; nothing is written to a host."""

    virtual_functions: bool = setting(
        "Whether adapters have virtual functions for virtual machines or containers (SR-IOV).",
        default=False, example="true",
    )  # fmt: skip
    # Bounds: AMD's NPS and Intel's SNC allow 1, 2, 3 and 4; NPS with last-level caches as nodes reaches 16.
    numa_per_socket: int | None = setting(
        "NUMA nodes per socket (AMD's NPS, Intel's SNC); not set: any number that is equal within the group.",
        default=None, example="1", least=1, most=16,
    )  # fmt: skip


def _address(value: Any) -> IPv4Address:
    fix = _("write the IPv4 address as 10.77.0.11")
    if not isinstance(value, str):
        raise refuse("bad-address", _("`{value}` is not an IPv4 address", value=value), fix)
    try:
        return IPv4Address(value)
    except ValueError as error:
        message = _("`{value}` is not an IPv4 address: {error}", value=value, error=error)
        raise refuse("bad-address", message, fix) from error


Address = Annotated[
    IPv4Address,
    BeforeValidator(_address),
    WithJsonSchema({"type": "string", "examples": ["10.77.0.11"], "form": N_("an IPv4 address")}),
]


class Cpus(Section):
    """Processors of one host, as `slurmd -C` prints them."""

    # Bounds: Slurm stores each in 16 bits; no board has more than 32 sockets or 8 threads per core.
    sockets: int = setting("Processor sockets.", cost=Cost.DRAIN, default=1, example="2", least=1, most=32)
    cores_per_socket: int = setting("Cores per socket.", cost=Cost.DRAIN, example="64", least=1, most=1024)
    threads_per_core: int = setting(
        "Hardware threads per processor core.", cost=Cost.DRAIN, default=1, example="2", least=1, most=8
    )

    @property
    def threads(self) -> int:
        """Number of hardware threads of the host, which Slurm calls CPUs."""
        return self.sockets * self.cores_per_socket * self.threads_per_core


class Gpus(Section):
    """GPUs of one host."""

    model: Identifier = setting("GPU model, which is Slurm's GRES type.", cost=Cost.DRAIN, example="a100")
    count: int = setting("GPUs per host.", cost=Cost.DRAIN, example="8", least=1, most=128)
    memory: Size | None = setting(
        "Memory of one GPU of the hosts.", cost=Cost.DRAIN, default=None, example="80GiB"
    )
    devices: HostPath = setting(
        "Path of the device files without their index.",
        cost=Cost.DRAIN, default="/dev/nvidia", example="/dev/nvidia",
    )  # fmt: skip
    nvlink: bool = setting(
        "Whether NVLink or NVSwitch connects all GPUs.", cost=Cost.DRAIN, default=False, example="true"
    )
    sockets: tuple[int, ...] = setting(
        "CPU socket of each GPU by index (`nvidia-smi topo -m`); jobs then get cores on the socket of their GPUs.",
        cost=Cost.DRAIN, default=(), example="[0, 0, 0, 0, 1, 1, 1, 1]",
    )  # fmt: skip

    _gres_type: str | None = PrivateAttr(default=None)

    @property
    def gres_type(self) -> str:
        """Slurm's GRES type: the model; on a learned cluster Slurm's own, "" for GPUs without a type."""
        return self.model if self._gres_type is None else self._gres_type

    def with_gres_type(self, gres_type: str) -> Gpus:
        """Return the GPUs with a GRES type that is not their model."""
        gpus = self.model_copy()
        gpus._gres_type = gres_type  # noqa: SLF001 (of this class)
        return gpus

    def device_files(self) -> tuple[str, ...]:
        """Return the device files by index: `/dev/nvidia0`, `/dev/nvidia1`."""
        return tuple(f"{self.devices}{index}" for index in range(self.count))


_TRANSIENT = frozenset({"CLOUD", "FUTURE", "EXTERNAL"})  # slurm.conf(5), State of a NodeName line


class NodeGroup(Section):
    """Hosts of the same hardware and role."""

    role: Literal["control", "compute", "login"] = setting(
        "control: runs slurmctld and other servers; compute: runs jobs; login: users submit jobs there.",
        cost=Cost.REBUILD, example="compute",
    )  # fmt: skip
    os: Os | None = setting(
        "Operating system of these hosts; not set: `os` of the cluster.",
        cost=Cost.REBUILD, default=None, example=EXAMPLE,
    )  # fmt: skip
    hosts: Hostlist = setting("Host names, as a Slurm hostlist.", cost=Cost.DRAIN, example="gpu-node[1-8]")
    absent: Hostlist | None = setting(
        "Hosts of the group that do not exist, or no longer; the addresses of the others do not change.",
        cost=Cost.DRAIN, default=None, example="gpu-node3",
    )  # fmt: skip
    addresses: dict[NetworkName, Address] = setting(
        "Address of the first host on each network; the next hosts, sorted by name and number, get the next addresses.",
        cost=Cost.REBUILD, example="{management: 10.77.0.11}",
    )  # fmt: skip
    cpus: Cpus = setting("Processors of one host.", cost=Cost.DRAIN)
    memory: Size = setting("Memory of one host.", cost=Cost.DRAIN, example="512GiB")
    memory_reserved: Size = setting(
        "Memory reserved for the system (Slurm's MemSpecLimit).",
        cost=Cost.RESTART, default="1GiB", example="8GiB",
    )  # fmt: skip
    gpus: Gpus | None = setting("GPUs of one host.", cost=Cost.DRAIN, default=None)
    disks: tuple[Disk, ...] = setting("Local disks of one host.", cost=Cost.DRAIN, default=())
    firmware: Firmware = setting("Expected firmware settings, for checks.", default=Firmware)
    nics: tuple[RdmaDevice, ...] = setting(
        "RDMA devices of the compute network in the order of the rails; not set: found by their addresses.",
        default=(), example="[mlx5_0, mlx5_3]",
    )  # fmt: skip
    switch: Identifier | None = setting(
        "Leaf switch of these hosts, for topology.conf.",
        cost=Cost.RESTART, default=None, example="leaf1",
    )  # fmt: skip
    options: dict[SlurmKey, ConfLine] = setting(
        "Additional keys of the NodeName line in slurm.conf; a key here replaces the value that another field sets.",
        cost=Cost.RESTART,
        default={},
        example='{Weight: "10"}',
    )

    @property
    def usable_memory_mib(self) -> int:
        """The memory, in MiB, that slurmd finds at least, used as RealMemory: a host with less is drained.

        The kernel reserves 64 of every 4096 bytes (struct page: 1.6 %), firmware and crash kernel about as much again:
        hence 31/32 of the declared memory.
        """
        return self.memory // MiB * 31 // 32

    @property
    def free_memory_mib(self) -> int:
        """The memory, in MiB, that jobs may allocate: `usable_memory_mib` less `memory_reserved`."""
        return self.usable_memory_mib - self.memory_reserved // MiB

    @property
    def is_transient(self) -> bool:
        """Whether the hosts need not exist: the options of the group have State=CLOUD, FUTURE or EXTERNAL."""
        return next(
            (value.upper() in _TRANSIENT for key, value in self.options.items() if key == "State"), False
        )

    @cache_per_instance
    def names(self) -> tuple[str, ...]:
        """Return the host names of the group, sorted by name and number, without absent hosts."""
        return tuple(name for _index, name in self.places())

    @cache_per_instance
    def places(self) -> tuple[tuple[int, str], ...]:
        """Return (index in the group, name) of each host that is not absent; addresses are offset by the index."""
        absent_names = frozenset(expand(self.absent)) if self.absent else frozenset()
        return tuple((index, name) for index, name in enumerate(self.all_names()) if name not in absent_names)

    @cache_per_instance
    def all_names(self) -> tuple[str, ...]:
        """Return the host names of the group, absent hosts included."""
        return expand(self.hosts)
