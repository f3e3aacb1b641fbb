"""Sections of the cluster file: access, software, monitoring, security, time, jobs, self-healing, lab."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import (
    HostName,
    HostPath,
    Identifier,
    Line,
    LoginName,
    ServerName,
    Sha256,
    VariableName,
    Version,
    matching,
)
from clusterwright.config.networks import Origin
from clusterwright.config.quantities import Duration
from clusterwright.config.receivers import HttpAddress, Receiver
from clusterwright.config.repositories import Repository
from clusterwright.errors import closest_name
from clusterwright.i18n import N_, _


class Nvidia(Section):
    """NVIDIA packages besides `software.driver`, `cuda`, `cudnn` and `nccl`, which this section makes packages too."""

    repository: Identifier | None = setting(
        "Name in `software.repositories` of the repository with NVIDIA's packages; optional only in a lab.",
        cost=Cost.REBOOT, default=None, example="nvidia",
    )  # fmt: skip
    kernel_modules: Literal["auto", "open", "proprietary"] = setting(
        "Kernel modules of the driver; auto: the open modules where the GPUs support them (Turing and later).",
        cost=Cost.REBOOT, default="auto", example="open",
    )  # fmt: skip
    fabric_manager: Literal["auto", "always", "never"] = setting(
        "Install fabric manager in the driver's version; auto: on hosts with NVSwitch.",
        cost=Cost.DRAIN, default="auto", example="always",
    )  # fmt: skip
    persistence: bool = setting(
        "Persistence mode: the driver stays loaded between jobs (nvidia-persistenced).",
        cost=Cost.DRAIN, default=True, example="false",
    )  # fmt: skip
    dcgm: Version | None = setting(
        "Version of DCGM, NVIDIA's data center GPU manager; not set: not installed.",
        cost=Cost.DRAIN, default=None, example='"4.4.1"',
    )  # fmt: skip
    container_toolkit: Version | None = setting(
        "Version of the NVIDIA Container Toolkit; not set: not installed.",
        cost=Cost.DRAIN, default=None, example='"1.18.0"',
    )  # fmt: skip


class Rocm(Section):
    """AMD's driver and ROCm, in the versions of AMD's repository."""

    version: Version = setting("Version of ROCm.", cost=Cost.DRAIN, example='"6.4.1"')
    driver: Version = setting(
        "Version of the driver package, amdgpu-dkms.", cost=Cost.REBOOT, example='"6.12.12"'
    )
    repository: Identifier = setting(
        "Name in `software.repositories` of the repository with the packages.",
        cost=Cost.REBOOT, example="rocm",
    )  # fmt: skip


_MAX_PORT = 65535  # 16 bits


class Access(Section):
    """SSH access to the hosts; all other options are in ssh_config(5)."""

    user: LoginName = setting("User that logs in; root, or a user with sudo.", default="root", example="root")
    port: int = setting("Port of sshd.", cost=Cost.RESTART, default=22, example="22", least=1, most=_MAX_PORT)
    config: HostPath | None = setting(
        "Path of an ssh_config file; default: the user's own.", default=None, example="/etc/wright/ssh_config"
    )


class PackageBundle(Section):
    """A file of packages, written by `wright bundle` where there is a network."""

    path: HostPath = setting(
        "Path of the bundle on the machine that runs `wright apply`.", example="/srv/bundle.tar"
    )
    sha256: Sha256 = setting(
        "SHA-256 of the bundle, which `wright bundle` prints; another file is refused.",
        example="5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e5a0e",
    )


class Software(Section):
    """Software versions, the same on every host."""

    slurm: Version = setting("Version of Slurm.", cost=Cost.RESTART, default="22.05", example='"25.11"')
    repositories: dict[Identifier, Repository] = setting(
        "Package repositories of the site by name, in addition to the distribution's; Slurm's packages may be there.",
        cost=Cost.RESTART, default={},
    )  # fmt: skip
    bundle: PackageBundle | None = setting(
        "Bundle that all packages are installed from, for hosts without a network to repositories;"
        " not set: hosts use their own repositories and `software.repositories`.",
        default=None,
    )
    slurm_packages: Literal["auto", "distribution", "schedmd"] = setting(
        "Origin of Slurm's packages, which decides their names; auto: the distribution's where it has that release.",
        cost=Cost.RESTART, default="auto", example="distribution",
    )  # fmt: skip
    driver: Version | None = setting(
        "Version of the NVIDIA driver.", cost=Cost.REBOOT, default=None, example='"580.95"'
    )
    cuda: Version | None = setting(
        "Version of the CUDA toolkit.", cost=Cost.DRAIN, default=None, example='"12.8"'
    )
    cudnn: Version | None = setting("Version of cuDNN.", cost=Cost.DRAIN, default=None, example='"9.8"')
    nccl: Version | None = setting("Version of NCCL.", cost=Cost.DRAIN, default=None, example='"2.27"')
    nvidia: Nvidia | None = setting(
        "NVIDIA's software as packages; not set: the site installs it.", cost=Cost.REBOOT, default=None
    )
    rocm: Rocm | None = setting(
        "AMD's software as packages; not set: the site installs it.", cost=Cost.REBOOT, default=None
    )
    python: HostPath = setting(
        "Python with torch for trainings; an exporter that runs in it is restarted when it changes.",
        cost=Cost.RESTART, default="/opt/clusterwright/env/bin/python", example="/opt/env/bin/python",
    )  # fmt: skip


class Monitoring(Section):
    """Exporters, Prometheus, Grafana, alerts and their receivers."""

    node_exporter: bool = setting(
        "Run node_exporter, for host metrics, on port 9100 of the management network.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    exporter: bool = setting(
        "Run our exporter on port 9105 of the management network: GPUs, jobs, XIDs and health program results;"
        " on the control host also Slurm and the runs.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    prometheus: bool = setting("Run Prometheus on the control host.", default=False, example="true")
    grafana: bool = setting(
        "Run Grafana with our dashboards on the control host.", default=False, example="true"
    )
    retention: Duration = setting("Retention time of metrics.", default="30d", example="30d", least=3600)
    receivers: dict[Identifier, Receiver] = setting("Receivers of alerts by name.", default={})
    notify: tuple[Identifier, ...] = setting(
        "Receivers that alerts are sent to.", default=(), example="[oncall]"
    )
    language: Literal["en", "zh"] = setting("Language of alerts.", default="en", example="zh")
    runbook_url: HttpAddress | None = setting(
        "Base URL of the alert runbooks; default: `docs/reference/alerts` of the source of Clusterwright.",
        default=None, example="https://wiki.example.org/alerts",
    )  # fmt: skip
    external_url: HttpAddress | None = setting(
        "External URL of Prometheus, for links in notifications; Prometheus itself listens on loopback only.",
        default=None, example="https://monitor.example.org/prometheus",
    )  # fmt: skip

    @property
    def is_scraped(self) -> bool:
        """Whether hosts are scraped over the network, which needs certificates."""
        return self.node_exporter or self.exporter or self.prometheus


class Security(Section):
    """Firewall, SSH access and SELinux."""

    firewall: bool = setting(
        "Enable the firewall, with only the cluster's own ports open.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    firewall_program: Literal["auto", "nftables", "firewalld"] = setting(
        "Firewall program; auto: firewalld on Rocky and Alma, nftables elsewhere.",
        cost=Cost.RESTART, default="auto", example="nftables",
    )  # fmt: skip
    isolate_users: bool = setting(
        "Keep users apart on compute hosts: a user's packets reach only hosts with a job of that user, and within"
        " a host only that user's programs.",
        cost=Cost.RESTART,
        default=True,
        example="false",
    )
    ssh_from: tuple[Origin, ...] = setting(
        "Networks that SSH connections are accepted from; empty: any.", default=(), example="[10.77.0.0/24]"
    )
    selinux: Literal["enforcing", "permissive"] = setting(
        "SELinux mode of hosts with SELinux.", cost=Cost.REBOOT, default="enforcing", example="enforcing"
    )
    password_login: bool = setting("Allow password login over SSH.", default=False, example="false")
    login: Literal["jobs-only", "free"] = setting(
        "jobs-only: on compute hosts, SSH admits a user only with a job there, into the job's control group"
        " (pam_slurm_adopt); root, `ssh.user` and admins always log in. free: every user logs in.",
        cost=Cost.RESTART,
        default="jobs-only",
        example="free",
    )


_ZONE = r"[A-Za-z]+(/[A-Za-z0-9_+-]+){0,2}"
_ZONE_FIX = N_("use a name of the tz database, such as UTC or Asia/Shanghai")


def _existing_zone(value: str) -> str:
    """Return the name of a time zone unchanged if the tz database of this machine has it, or if there is none.

    Raises:
        PydanticCustomError: it does not exist; with the closest name.
    """
    from zoneinfo import available_timezones

    zones = available_timezones()
    if not zones or value in zones:  # a machine may have no tz database
        return value
    cities = {zone.rpartition("/")[2].lower(): zone for zone in sorted(zones, reverse=True)}
    city = value.rpartition("/")[2].replace(" ", "_").lower()
    closest = cities.get(city) or closest_name(value, zones) or cities.get(closest_name(city, cities) or "")
    fix = _("did you mean `{suggestion}`?", suggestion=closest) if closest else _(_ZONE_FIX)
    raise refuse("bad-name", _("time zone `{value}` does not exist", value=value), fix)


Zone = Annotated[str, *matching(_ZONE, N_("a time zone"), _ZONE_FIX), AfterValidator(_existing_zone)]


class Time(Section):
    """Time zone and NTP servers."""

    zone: Zone = setting("Time zone of every host.", default="UTC", example="Asia/Shanghai")
    servers: tuple[ServerName, ...] = setting(
        "NTP servers of the control hosts; other hosts synchronize with the control hosts.",
        cost=Cost.RESTART, default=(), example="[ntp1, pool.ntp.org]",
    )  # fmt: skip


class Jobs(Section):
    """Defaults of every training; its job file overrides them."""

    variables: dict[VariableName, Line] = setting(
        "Environment variables of every training; `wright tune` writes its results here."
        " NCCL variables are also in /etc/nccl.conf of compute hosts, for other jobs.",
        default={}, example="{NCCL_ALGO: Tree}",
    )  # fmt: skip


class Lab(Section):
    """Settings of a lab of virtual hosts on one machine; with this section `apply` and `check` go to the lab."""

    rate_divisor: int = setting(
        "Divisor of network rates for traffic shaping in the lab.",
        default=100, example="100", least=1, most=1_000_000,
    )  # fmt: skip
    environment: HostPath | None = setting(
        "Python environment with torch on this machine, read-only on the lab's hosts; default: the one of `wright`.",
        default=None, example="/opt/venv",
    )  # fmt: skip

    @staticmethod
    def folder(cluster: str) -> PurePosixPath:
        """Return the path of a lab's state folder."""
        return PurePosixPath("/var/lib/clusterwright/labs") / cluster


# Actions that need permission. `return` comes with `drain`, which it undoes; `tell` is harmless; `restart-in-place` is
# done by the supervisor of a training.
ActionName = Literal[
    "restart-service", "drain", "reset-gpu", "reboot", "reapply", "replace", "requeue", "exclude"
]


class Heal(Section):
    """Self-healing of the cluster. The default mode only proposes actions."""

    mode: Literal["none", "propose", "approve", "act"] = setting(
        "none: off; propose: actions are recorded as proposals; approve: actions run after approval"
        " (`wright heal approve ID`); act: actions run without approval.",
        cost=Cost.RESTART, default="propose", example="act",
    )  # fmt: skip
    allow: tuple[ActionName, ...] = setting(
        "Allowed actions; other actions are only proposed.",
        cost=Cost.RESTART, default=(), example="[restart-service, drain, reboot]",
    )  # fmt: skip
    watch: bool = setting(
        "Run self-healing as a systemd unit on the control host; false: only where a user runs `wright heal watch`.",
        cost=Cost.RESTART, default=False, example="true",
    )  # fmt: skip
    # Health programs have their own limit, slurm.max_drained_percent; this one counts hosts down for any reason.
    max_unavailable_percent: int = setting(
        "Maximum percentage of each partition's hosts that may be out of service, for any reason, after a drain by"
        " self-healing; one host always may.",
        cost=Cost.RESTART, default=20, example="10", least=1, most=100,
    )  # fmt: skip
    max_attempts: int = setting(
        "Maximum attempts of the same action on the same host within `window`; then the administrator is notified.",
        cost=Cost.RESTART, default=3, example="2", least=1, most=20,
    )  # fmt: skip
    window: Duration = setting(
        "Time window for counting attempts.", cost=Cost.RESTART, default="24h", example="24h", least=60
    )
    pause: Duration = setting(
        "Pause before the same action on the same host is repeated; doubles with each attempt.",
        cost=Cost.RESTART, default="10m", example="5m", least=1,
    )  # fmt: skip
    poll_interval: Duration = setting(
        "Interval of polls of Slurm.", cost=Cost.RESTART, default="30s", example="30s", least=1, most=3600
    )
    check_interval: Duration = setting(
        "Interval of checks of all hosts; hosts under repair are checked at each poll of Slurm.",
        cost=Cost.RESTART, default="5m", example="5m", least=1, most=86400,
    )  # fmt: skip
    # Equal to the timeout of provision/reboot.py: the POST of a server with 2 TB of memory takes ten minutes.
    action_timeout: Duration = setting(
        "Timeout of an action; the administrator is notified of a host that does not return from a reboot in time.",
        cost=Cost.RESTART, default="15m", example="15m", least=5,
    )  # fmt: skip
    spares: tuple[HostName, ...] = setting(
        "Standby hosts that replace others; they are drained with the reason `wright: spare` until they are needed.",
        cost=Cost.RESTART, default=(), example="[gpu-node8]",
    )  # fmt: skip
    program: HostPath = setting(
        "Path of `wright` on the control host, for `watch`.",
        cost=Cost.RESTART, default="/opt/clusterwright/env/bin/wright", example="/opt/wright/bin/wright",
    )  # fmt: skip
