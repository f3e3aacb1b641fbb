"""The cluster file."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Literal

from clusterwright.config.environments import Environments
from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.heal import Heal
from clusterwright.config.memoize import cache_per_instance
from clusterwright.config.names import AccountName, ClusterName, Identifier, PackageName, SlurmName
from clusterwright.config.networks import NetworkName, Networks
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.people import Team, User
from clusterwright.config.quantities import Size
from clusterwright.config.rdma import Rdma
from clusterwright.config.site import Access, Jobs, Lab, Monitoring, Security, Software, Time
from clusterwright.config.slurm import Accounting, Partition, Qos, Reservation, SlurmSettings
from clusterwright.config.storage import Storage
from clusterwright.platforms import DEFAULT, EXAMPLE, Platform, platform, platform_names

if TYPE_CHECKING:
    Os = str
else:
    Os = Literal[platform_names()]


class System(Section):
    """What of the base system a site decides; what training needs anyway is not asked."""

    hugepages: Size | None = setting(
        "Memory of every compute host kept as 2 MiB pages; none if left out.",
        cost=Cost.REBOOT, default=None, example="16GiB",
    )  # fmt: skip
    governor: Literal["performance", "as-is"] = setting(
        "Frequency governor of the CPUs of compute hosts.",
        cost=Cost.RESTART, default="performance", example="as-is",
    )  # fmt: skip
    swap: bool = setting(
        "Swap on compute hosts: a rank that is swapped out holds up all others.",
        cost=Cost.RESTART, default=False, example="true",
    )  # fmt: skip
    journal: Size = setting(
        "Most disk space that the system's journal takes.", default="1GiB", example="2GiB"
    )
    hold_packages: tuple[PackageName, ...] = setting(
        "Packages that are never upgraded by themselves, beyond those of driver, fabric and Slurm.",
        default=(), example="[docker-ce]",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Host:
    """One host: its name, its group, and its address on each network that it is on."""

    name: str
    group_name: str
    group: NodeGroup
    addresses: dict[NetworkName, IPv4Address]

    @property
    def management(self) -> IPv4Address:
        """The address that SSH, Slurm and monitoring use."""
        return self.addresses["management"]


class Cluster(Section):
    """The whole cluster, as cluster.yaml says it."""

    name: ClusterName = setting("Name of the cluster; Slurm's ClusterName.", cost=Cost.REBUILD, example="lab")
    os: Os = setting("Operating system of the hosts.", cost=Cost.REBUILD, default=DEFAULT, example=EXAMPLE)
    ssh: Access = setting("How the hosts are reached.", default=Access)
    networks: Networks = setting("The networks.", cost=Cost.REBUILD)
    nodes: dict[Identifier, NodeGroup] = setting("Node groups by name.", cost=Cost.DRAIN)
    storage: dict[Identifier, Storage] = setting("Shared folders by name.", cost=Cost.DRAIN, default={})
    system: System = setting("The base system.", default=System)
    rdma: Rdma | None = setting(
        "What hosts on InfiniBand or RoCE have; not ours to set up if left out.",
        cost=Cost.REBOOT,
        default=None,
    )
    software: Software = setting(
        "Versions that are the same everywhere.", cost=Cost.RESTART, default=Software
    )
    slurm: SlurmSettings = setting(
        "What of slurm.conf a site decides.", cost=Cost.RESTART, default=SlurmSettings
    )
    partitions: dict[SlurmName, Partition] = setting("Slurm's partitions by name.")
    qos: dict[SlurmName, Qos] = setting("Qualities of service by name; `normal` is there anyway.", default={})
    reservations: dict[SlurmName, Reservation] = setting("Reservations by name.", default={})
    accounting: Accounting = setting("Who used what.", cost=Cost.RESTART, default=Accounting)
    teams: dict[AccountName, Team] = setting("Teams by name.", default={})
    users: dict[AccountName, User] = setting("Users by name.", default={})
    time: Time = setting("Clocks.", default=Time)
    environments: Environments = setting(
        "Containers, Python environments, modules and caches.", default=Environments
    )
    jobs: Jobs = setting("What every training gets.", default=Jobs)
    monitoring: Monitoring = setting("What is measured.", default=Monitoring)
    heal: Heal = setting("How far the cluster may repair itself.", default=Heal)
    security: Security = setting("What is kept shut.", default=Security)
    lab: Lab | None = setting(
        "Makes this the file of a lab on this machine.", cost=Cost.REBUILD, default=None
    )

    @cache_per_instance
    def hosts(self, role: Literal["control", "compute", "login"] | None = None) -> tuple[Host, ...]:
        """All hosts, or those of one role, in the order of the file."""
        return tuple(
            Host(
                name,
                group_name,
                group,
                {net: first_address + index for net, first_address in group.addresses.items()},
            )
            for group_name, group in self.nodes.items()
            if role in (None, group.role)
            for index, name in group.places()
        )

    def host(self, name: str) -> Host:
        """The host of that name.

        Raises:
            KeyError: no such host.
        """
        for host in self.hosts():
            if host.name == name:
                return host
        raise KeyError(name)

    @property
    def platform(self) -> Platform:
        """The distribution's release that the hosts run."""
        return platform(self.os)

    @property
    def control(self) -> Host:
        """The first control host: slurmctld runs there, and jobs are submitted there."""
        return self.hosts("control")[0]

    @property
    def accountant(self) -> Host | None:
        """The host of slurmdbd and its database, where accounting is on."""
        if not self.accounting.enabled:
            return None
        return self.host(self.accounting.host) if self.accounting.host else self.control

    @property
    def shared_folder(self) -> str | None:
        """The first folder that every host shares; runs are kept in its `runs`."""
        return next((folder.path for folder in self.storage.values()), None)

    @property
    def ssh_config(self) -> str | None:
        """The ssh_config file to use: the lab's own in a lab, else the site's, else the user's default."""
        return str(Lab.folder(self.name) / "ssh_config") if self.lab else self.ssh.config
