"""The cluster file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, PrivateAttr

from clusterwright.config.distribution import Os
from clusterwright.config.environments import Environments
from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.memoize import cache_per_instance
from clusterwright.config.names import (
    AccountName,
    ClusterName,
    Identifier,
    PackageName,
    SlurmName,
    limit_hosts,
    limit_reserved,
)
from clusterwright.config.networks import NetworkName, Networks, Rdma
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.people import Team, User
from clusterwright.config.quantities import Size
from clusterwright.config.site import Access, Heal, Jobs, Lab, Monitoring, Security, Software, Time
from clusterwright.config.slurm import Accounting, Partition, Qos, Reservation, SlurmSettings
from clusterwright.config.storage import ObjectStorage, Storage
from clusterwright.i18n import _
from clusterwright.platforms import DEFAULT, EXAMPLE, Platform, platform

# Kernel settings as sysctl.d(5) has them.
_SYSCTL_NAME = re.compile(r"(?:abi|debug|dev|fs|kernel|net|user|vm)(?:\.[A-Za-z0-9_@:-]{1,64}){1,8}")
_SYSCTL_VALUE = re.compile(r"[A-Za-z0-9+-][A-Za-z0-9 \t.,:/_+-]{0,200}")
# Written by the roles from other fields, which a second value would contradict.
_RESERVED_SYSCTL = {"kernel.hostname": "nodes", "net.ipv4.ip_local_reserved_ports": "slurm.ports"}


def _valid_sysctl_name(name: str) -> str:
    if not _SYSCTL_NAME.fullmatch(name):
        raise refuse(
            "bad-name",
            _("`{name}` is not a kernel setting", name=name[:100]),
            _("write the name of the kernel setting as sysctl(8) prints it, such as net.core.rmem_max"),
        )
    if field := _RESERVED_SYSCTL.get(name):
        raise refuse(
            "reserved-name",
            _("`{name}` is set from `{field}`", name=name, field=field),
            _("change {field} instead, and remove the line", field=field),
        )
    return name


def _sysctl_text(value: Any) -> Any:
    """Return a whole number as text, as YAML reads `134217728`; other values unchanged."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _valid_sysctl_value(value: str) -> str:
    if not _SYSCTL_VALUE.fullmatch(value):
        message = _("`{value}` is not a value of a kernel setting", value=value[:100])
        fix = _('write numbers or words, such as 10 or "4096 87380 134217728"')
        raise refuse("bad-name", message, fix)
    return " ".join(value.split())


SysctlName = Annotated[str, AfterValidator(_valid_sysctl_name)]
SysctlValue = Annotated[str, BeforeValidator(_sysctl_text), AfterValidator(_valid_sysctl_value)]


class System(Section):
    """Settings of the base system that a site chooses; settings that training always needs are not fields."""

    hugepages: Size | None = setting(
        "Memory of each compute host that is reserved as 2 MiB huge pages; default: none.",
        cost=Cost.REBOOT, default=None, example="16GiB",
    )  # fmt: skip
    governor: Literal["performance", "as-is"] = setting(
        "CPU frequency governor of compute hosts.",
        cost=Cost.RESTART, default="performance", example="as-is",
    )  # fmt: skip
    swap: bool = setting(
        "Enable swap on compute hosts; a rank that is swapped out delays all others.",
        cost=Cost.RESTART, default=False, example="true",
    )  # fmt: skip
    sysctl: dict[SysctlName, SysctlValue] = setting(
        "Kernel settings of compute hosts by name, in addition to the built-in ones or in place of them.",
        default={}, example="{net.core.rmem_max: 134217728}",
    )  # fmt: skip
    journal: Size = setting("Maximum disk space of the systemd journal.", default="1GiB", example="2GiB")
    hold_packages: tuple[PackageName, ...] = setting(
        "Packages to hold, in addition to those of driver, fabric and Slurm.",
        default=(), example="[docker-ce]",
    )  # fmt: skip


# The names in `manage` that stand for several roles. `check` reads hosts over SSH and installs nothing.
MANAGED_ROLES: dict[str, tuple[str, ...]] = {
    "monitoring": (
        "certificates",
        "node_exporter",
        "exporter",
        "prometheus",
        "alertmanager",
        "grafana",
        "notify",
        "training",
    ),
    "check": (),
}


@dataclass(frozen=True, slots=True)
class Host:
    """One host: its name, its group, and its address on each of its networks."""

    name: str
    group_name: str
    group: NodeGroup
    addresses: dict[NetworkName, IPv4Address]

    @property
    def management(self) -> IPv4Address:
        """The address for SSH, Slurm and monitoring."""
        return self.addresses["management"]


@dataclass(frozen=True, slots=True)
class Unmanaged:
    """A Slurm cluster that Clusterwright did not build and does not change: where its users run Slurm's commands.

    `login`: host for SSH; None is this machine. `user`: login name there; None is the one of ssh_config(5).
    """

    login: str | None = None
    user: str | None = None


class Cluster(Section):
    """The whole cluster: the model of cluster.yaml."""

    name: ClusterName = setting("Name of the cluster; Slurm's ClusterName.", cost=Cost.REBUILD, example="lab")
    os: Os = setting(
        "Operating system of hosts whose node group names no other.",
        cost=Cost.REBUILD,
        default=DEFAULT,
        example=EXAMPLE,
    )
    ssh: Access = setting("SSH access to the hosts.", default=Access)
    networks: Networks = setting("Networks by purpose.", cost=Cost.REBUILD)
    nodes: Annotated[dict[Identifier, NodeGroup], BeforeValidator(limit_hosts)] = setting(
        "Node groups by name.", cost=Cost.DRAIN
    )
    storage: dict[Identifier, Storage] = setting("Shared folders by name.", cost=Cost.DRAIN, default={})
    object_storage: ObjectStorage | None = setting("Object storage (S3) that jobs use.", default=None)
    system: System = setting("Base system settings.", default=System)
    rdma: Rdma | None = setting(
        "RDMA on InfiniBand or RoCE; not set: the site sets it up.", cost=Cost.REBOOT, default=None
    )
    software: Software = setting("Software versions.", cost=Cost.RESTART, default=Software)
    slurm: SlurmSettings = setting("Settings of slurm.conf.", cost=Cost.RESTART, default=SlurmSettings)
    partitions: dict[SlurmName, Partition] = setting("Slurm partitions by name.")
    qos: dict[SlurmName, Qos] = setting("Qualities of service by name; `normal` always exists.", default={})
    reservations: Annotated[dict[SlurmName, Reservation], BeforeValidator(limit_reserved)] = setting(
        "Reservations by name.", default={}
    )
    accounting: Accounting = setting("Accounting by slurmdbd.", cost=Cost.RESTART, default=Accounting)
    teams: dict[AccountName, Team] = setting("Teams by name.", default={})
    users: dict[AccountName, User] = setting("Users by name.", default={})
    time: Time = setting("Time zone and NTP servers of the hosts.", default=Time)
    environments: Environments = setting(
        "Containers, Python environments, modules and caches.", default=Environments
    )
    jobs: Jobs = setting("Defaults of every training job on the cluster.", default=Jobs)
    monitoring: Monitoring = setting("Monitoring and alerts.", default=Monitoring)
    heal: Heal = setting("Self-healing.", default=Heal)
    security: Security = setting("Firewall and login security.", default=Security)
    lab: Lab | None = setting(
        "Marks the file as the cluster file of a lab on this machine.", cost=Cost.REBUILD, default=None
    )

    manage: tuple[Identifier, ...] | None = setting(
        "Roles that Clusterwright applies, by name; `monitoring` stands for all roles of monitoring. Other roles are"
        " never applied; not set: all roles.",
        default=None,
        example="[monitoring]",
    )

    _unmanaged: Unmanaged | None = PrivateAttr(default=None)

    @property
    def unmanaged(self) -> Unmanaged | None:
        """How users reach a cluster that was learned from Slurm; None for the cluster of a file."""
        return self._unmanaged

    def as_unmanaged(self, access: Unmanaged) -> Cluster:
        """Return the cluster as one that Clusterwright did not build, which no file can describe."""
        cluster = self.model_copy()
        cluster._unmanaged = access  # noqa: SLF001 (of this class)
        return cluster

    @cache_per_instance
    def hosts(self, role: Literal["control", "compute", "login"] | None = None) -> tuple[Host, ...]:
        """Return the hosts of the cluster, or of one role, in the order of the file."""
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

    def transient_hosts(self) -> frozenset[str]:
        """Return the hosts that need not exist (State CLOUD, FUTURE or EXTERNAL), which are not contacted.

        Empty if a provider of `power_saving` starts them.
        """
        saving = self.slurm.power_saving
        if saving is not None and saving.provider is not None:
            return frozenset()
        return frozenset(host.name for host in self.hosts() if host.group.is_transient)

    def permanent_hosts(self) -> tuple[str, ...]:
        """Return the names of the hosts without those that need not exist."""
        transient = self.transient_hosts()
        return tuple(host.name for host in self.hosts() if host.name not in transient)

    def host(self, name: str) -> Host:
        """Return the host with that name.

        Raises:
            KeyError: no such host.
        """
        for host in self.hosts():
            if host.name == name:
                return host
        raise KeyError(name)

    @property
    def platform(self) -> Platform:
        """The release of the distribution of `os`; that of one host is `cluster.on(host).platform`."""
        return platform(self.os)

    def on(self, host: Host) -> Cluster:
        """Return the cluster with the operating system of one host in `os`."""
        return self.with_os(host.group.os)

    @cache_per_instance
    def with_os(self, os: str | None) -> Cluster:
        """Return the cluster with this operating system in `os`; the cluster itself for None."""
        return self if os in (None, self.os) else self.model_copy(update={"os": os})

    def systems(
        self, *roles: Literal["control", "compute", "login"]
    ) -> Iterator[tuple[Cluster, tuple[str, ...]]]:
        """Yield the cluster with each operating system of the hosts of these roles (default: all), and a path.

        The path is that of the field that names the system; each system comes once, with its first group.
        """
        yielded = set()
        for name, group in self.nodes.items():
            os = group.os or self.os
            if os not in yielded and (not roles or group.role in roles):
                yielded.add(os)
                yield self.with_os(os), ("nodes", name, "os") if group.os else ("os",)

    def first_system(self, role: Literal["control", "compute"]) -> tuple[Cluster, tuple[str, ...]]:
        """Return the first of `systems` of a role; that of the cluster if it has no such hosts."""
        return next(self.systems(role), (self, ("os",)))

    @property
    def control(self) -> Host:
        """The first control host, which runs slurmctld and where jobs are submitted."""
        return self.hosts("control")[0]

    def manages(self, role: str) -> bool:
        """Return whether Clusterwright applies a role: all roles without `manage`, else those that it lists."""
        if self.manage is None:
            return True
        return any(role in MANAGED_ROLES.get(name, (name,)) for name in self.manage)

    @property
    def slurm_name(self) -> str:
        """Slurm's ClusterName in lower case, as in slurmdbd: the cluster's name unless slurm.options has another."""
        return self.slurm.options.get("ClusterName", self.name).lower()

    def unix_users(self) -> dict[str, int]:
        """Return the uid of each user whose accounts on hosts apply creates."""
        return {name: user.uid for name, user in self.users.items() if user.uid is not None}

    def unix_groups(self) -> dict[str, int]:
        """Return the gid of each team whose group on hosts apply creates."""
        return {name: team.gid for name, team in self.teams.items() if team.gid is not None}

    @property
    def accountant(self) -> Host | None:
        """The host of slurmdbd and its database, by default the first control host; None if accounting is off."""
        if not self.accounting.enabled:
            return None
        return self.host(self.accounting.host) if self.accounting.host else self.control

    @property
    def shared_folder(self) -> str | None:
        """The path of the first shared folder, which contains `runs`; None without shared storage."""
        return next((folder.path for folder in self.storage.values()), None)

    def scratch_mount(self, partition: str) -> str | None:
        """Return the first disk mount of the partition's hosts; None if a node group has none or a different one."""
        groups = [self.nodes[name] for name in self.partitions[partition].nodes if name in self.nodes]
        mounts = {next((disk.mount for disk in group.disks if disk.mount), None) for group in groups}
        return mounts.pop() if len(mounts) == 1 else None

    @property
    def ssh_config(self) -> str | None:
        """The ssh_config file: the lab's in a lab, else `ssh.config`; None means the user's default."""
        return str(Lab.folder(self.name) / "ssh_config") if self.lab else self.ssh.config
