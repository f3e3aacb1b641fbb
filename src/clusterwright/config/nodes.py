"""Node groups: which hosts they are, what is in them, their disks and firmware."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import Hostlist, HostPath, Identifier, RdmaDevice, expand
from clusterwright.config.networks import NetworkName
from clusterwright.config.quantities import Size
from clusterwright.config.storage import Quota
from clusterwright.i18n import _


class Disk(Section):
    """Local disks of one kind in a host."""

    kind: Literal["nvme", "ssd", "hdd"] = setting(
        "What they are.", cost=Cost.DRAIN, default="nvme", example="nvme"
    )
    count: int = setting("How many.", cost=Cost.DRAIN, default=1, example="4", least=1, most=128)
    size: Size = setting("Size of one.", cost=Cost.DRAIN, example="3.84TB")
    mount: HostPath | None = setting(
        "Where a job finds them as scratch.", cost=Cost.DRAIN, default=None, example="/scratch"
    )
    filesystem: Literal["xfs", "ext4"] | None = setting(
        "Made by us, on disks that are empty; left out: the site has made it, and mounts it.",
        cost=Cost.REBUILD, default=None, example="xfs",
    )  # fmt: skip
    raid: Literal["none", 0, 10] = setting(
        "How the disks become one: 0 is fastest and is lost with any of them, 10 keeps everything twice, for"
        " metadata and what must last; none for a single disk.",
        cost=Cost.REBUILD, default="none", example="0",
    )  # fmt: skip
    quota: Quota | None = setting("Quotas, on a file system that we make.", default=None)


class Firmware(Section):
    """Firmware settings that training leaves open. Nothing here is written to a host: checks hold hosts against it."""

    virtual_functions: bool = setting(
        "True where adapters are to have functions for virtual machines or containers (SR-IOV).",
        default=False, example="true",
    )  # fmt: skip
    # Bounds: AMD's NPS and Intel's SNC know 1, 2, 3 and 4; NPS and last-level caches as nodes come to 16 at most.
    numa_per_socket: int | None = setting(
        "NUMA nodes of one socket (AMD's NPS, Intel's SNC); left out: as it is, but equal within the group.",
        default=None, example="1", least=1, most=16,
    )  # fmt: skip


def _address(value: Any) -> IPv4Address:
    fix = _("write it as 10.77.0.11")
    if not isinstance(value, str):
        raise refuse("bad-address", _("`{value}` is not an IPv4 address", value=value), fix)
    try:
        return IPv4Address(value)
    except ValueError as error:
        raise refuse(
            "bad-address", _("`{value}` is not an IPv4 address: {error}", value=value, error=error), fix
        ) from error


Address = Annotated[
    IPv4Address,
    BeforeValidator(_address),
    WithJsonSchema({"type": "string", "examples": ["10.77.0.11"], "form": "an IPv4 address"}),
]


class Cpus(Section):
    """Processors of one host, as `slurmd -C` prints them."""

    # Bounds: Slurm keeps each of the three in 16 bits; no board has more than 32 sockets or 8 threads a core.
    sockets: int = setting("Processor sockets.", cost=Cost.DRAIN, default=1, example="2", least=1, most=32)
    cores_per_socket: int = setting("Cores of one socket.", cost=Cost.DRAIN, example="64", least=1, most=1024)
    threads_per_core: int = setting(
        "Hardware threads of one core.", cost=Cost.DRAIN, default=1, example="2", least=1, most=8
    )

    @property
    def threads(self) -> int:
        """Hardware threads of the host: what Slurm calls CPUs."""
        return self.sockets * self.cores_per_socket * self.threads_per_core


class Gpus(Section):
    """GPUs of one host."""

    model: Identifier = setting("Slurm's gres type for it.", cost=Cost.DRAIN, example="a100")
    count: int = setting("GPUs in one host.", cost=Cost.DRAIN, example="8", least=1, most=128)
    memory: Size | None = setting("Memory of one GPU.", cost=Cost.DRAIN, default=None, example="80GiB")
    devices: HostPath = setting(
        "Device files, without the index that is added to each.",
        cost=Cost.DRAIN, default="/dev/nvidia", example="/dev/nvidia",
    )  # fmt: skip
    nvlink: bool = setting(
        "True when NVLink or NVSwitch joins all of them.", cost=Cost.DRAIN, default=False, example="true"
    )
    sockets: tuple[int, ...] = setting(
        "Socket that each GPU hangs on, by index (`nvidia-smi topo -m`); jobs then get cores beside their GPUs.",
        cost=Cost.DRAIN, default=(), example="[0, 0, 0, 0, 1, 1, 1, 1]",
    )  # fmt: skip

    def device_files(self) -> tuple[str, ...]:
        """`/dev/nvidia0` and so on, by index."""
        return tuple(f"{self.devices}{index}" for index in range(self.count))


class NodeGroup(Section):
    """Hosts of one make and one role."""

    role: Literal["control", "compute", "login"] = setting(
        "control runs slurmctld and serves the others; compute runs jobs; login is where users submit.",
        cost=Cost.REBUILD, example="compute",
    )  # fmt: skip
    hosts: Hostlist = setting("Host names, as a Slurm hostlist.", cost=Cost.DRAIN, example="gpu-node[1-8]")
    absent: Hostlist | None = setting(
        "Those of them that are not there, or no more; the addresses of the others stay as they are.",
        cost=Cost.DRAIN, default=None, example="gpu-node3",
    )  # fmt: skip
    addresses: dict[NetworkName, Address] = setting(
        "First host's address on each network; the next hosts, sorted by name and number, get the next ones.",
        cost=Cost.REBUILD, example="{management: 10.77.0.11}",
    )  # fmt: skip
    cpus: Cpus = setting("Processors of one host.", cost=Cost.DRAIN)
    memory: Size = setting("Memory of one host.", cost=Cost.DRAIN, example="512GiB")
    memory_reserved: Size = setting(
        "Memory kept from jobs for the system (Slurm's MemSpecLimit).",
        cost=Cost.RESTART, default="1GiB", example="8GiB",
    )  # fmt: skip
    gpus: Gpus | None = setting("GPUs of one host.", cost=Cost.DRAIN, default=None)
    disks: tuple[Disk, ...] = setting("Local disks of one host.", cost=Cost.DRAIN, default=())
    firmware: Firmware = setting("What checks hold the firmware against.", default=Firmware)
    nics: tuple[RdmaDevice, ...] = setting(
        "RDMA devices of the compute network by rail, where they cannot be told by their addresses.",
        default=(), example="[mlx5_0, mlx5_3]",
    )  # fmt: skip
    switch: Identifier | None = setting(
        "The leaf switch that these hosts hang on, for topology.conf.",
        cost=Cost.RESTART, default=None, example="leaf1",
    )  # fmt: skip

    def names(self) -> tuple[str, ...]:
        """Its hosts, sorted by name and number, without those that are absent."""
        return tuple(name for _index, name in self.places())

    def places(self) -> tuple[tuple[int, str], ...]:
        """Each host with its number in the group, from which its addresses are counted."""
        absent_names = frozenset(expand(self.absent)) if self.absent else frozenset()
        return tuple((index, name) for index, name in enumerate(self.all_names()) if name not in absent_names)

    def all_names(self) -> tuple[str, ...]:
        """Every host that has addresses of the group, there or not."""
        return expand(self.hosts)
