"""The smaller sections of the cluster file: access, software, monitoring, security, time, lab."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import (
    HostPath,
    Identifier,
    Line,
    LoginName,
    ServerName,
    VariableName,
    Version,
    Zone,
)
from clusterwright.config.networks import Origin
from clusterwright.config.quantities import Duration
from clusterwright.config.receivers import HttpAddress, Receiver
from clusterwright.config.repositories import Repository


class Nvidia(Section):
    """What is installed beside `software.driver`, `cuda`, `cudnn` and `nccl`; those are packages once this is there."""

    repository: Identifier | None = setting(
        "Which of `software.repositories` has the packages; needed but in a lab, which serves its own.",
        cost=Cost.REBOOT, default=None, example="nvidia",
    )  # fmt: skip
    kernel_modules: Literal["auto", "open", "proprietary"] = setting(
        "Kernel modules of the driver; auto: the open ones wherever the GPUs know them (Turing and later).",
        cost=Cost.REBOOT, default="auto", example="open",
    )  # fmt: skip
    fabric_manager: Literal["auto", "always", "never"] = setting(
        "Fabric manager, in the driver's version; auto: where NVSwitches join the GPUs.",
        cost=Cost.DRAIN, default="auto", example="always",
    )  # fmt: skip
    persistence: bool = setting(
        "The driver stays loaded between jobs (nvidia-persistenced).",
        cost=Cost.DRAIN, default=True, example="false",
    )  # fmt: skip
    dcgm: Version | None = setting(
        "NVIDIA's data centre GPU manager; none if left out.",
        cost=Cost.DRAIN, default=None, example='"4.4.1"',
    )  # fmt: skip
    container_toolkit: Version | None = setting(
        "What gives GPUs to containers; none if left out.",
        cost=Cost.DRAIN, default=None, example='"1.18.0"',
    )  # fmt: skip


class Rocm(Section):
    """The driver and ROCm, in the versions of AMD's repository."""

    version: Version = setting("ROCm.", cost=Cost.DRAIN, example='"6.4.1"')
    driver: Version = setting("The driver's package, amdgpu-dkms.", cost=Cost.REBOOT, example='"6.12.12"')
    repository: Identifier = setting(
        "Which of `software.repositories` has the packages.", cost=Cost.REBOOT, example="rocm"
    )


_MAX_PORT = 65535  # 16 bits


class Access(Section):
    """How the hosts are reached; everything else is the business of ssh_config(5)."""

    user: LoginName = setting(
        "Who logs in; needs root there, directly or by sudo.", default="root", example="root"
    )
    port: int = setting("Port of sshd.", cost=Cost.RESTART, default=22, example="22", least=1, most=_MAX_PORT)
    config: HostPath | None = setting(
        "An ssh_config file to use in place of yours.", default=None, example="/etc/wright/ssh_config"
    )


class Software(Section):
    """Versions that are the same on every host."""

    slurm: Version = setting("Slurm's version.", cost=Cost.RESTART, default="22.05", example='"25.11"')
    repositories: dict[Identifier, Repository] = setting(
        "Package repositories of the site's, by name, beside the distribution's own; Slurm's packages may be there.",
        cost=Cost.RESTART, default={},
    )  # fmt: skip
    slurm_packages: Literal["auto", "distribution", "schedmd"] = setting(
        "Who made Slurm's packages, and so their names; auto: the distribution where it has that release.",
        cost=Cost.RESTART, default="auto", example="distribution",
    )  # fmt: skip
    driver: Version | None = setting("NVIDIA driver.", cost=Cost.REBOOT, default=None, example='"580.95"')
    cuda: Version | None = setting("CUDA toolkit.", cost=Cost.DRAIN, default=None, example='"12.8"')
    cudnn: Version | None = setting("cuDNN.", cost=Cost.DRAIN, default=None, example='"9.8"')
    nccl: Version | None = setting("NCCL.", cost=Cost.DRAIN, default=None, example='"2.27"')
    nvidia: Nvidia | None = setting(
        "NVIDIA's software as packages; not ours to install if left out.", cost=Cost.REBOOT, default=None
    )
    rocm: Rocm | None = setting(
        "AMD's software as packages; not ours to install if left out.", cost=Cost.REBOOT, default=None
    )
    python: HostPath = setting(
        "The Python with torch that trainings use; an exporter may run in it, too, and is restarted then.",
        cost=Cost.RESTART, default="/opt/clusterwright/env/bin/python", example="/opt/env/bin/python",
    )  # fmt: skip


class Monitoring(Section):
    """What is measured, and where it is kept."""

    node_exporter: bool = setting(
        "Host metrics on port 9100 of the management network.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    exporter: bool = setting(
        "GPUs, jobs, XIDs and what the health program found, on port 9105 of the management network;"
        " on the control host Slurm and the runs as well.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    prometheus: bool = setting("Prometheus on the control host.", default=False, example="true")
    grafana: bool = setting("Grafana with our dashboards on the control host.", default=False, example="true")
    retention: Duration = setting("How long metrics are kept.", default="30d", example="30d", least=3600)
    receivers: dict[Identifier, Receiver] = setting("Who can be told of alerts, by name.", default={})
    notify: tuple[Identifier, ...] = setting(
        "Which of the receivers are told of alerts.", default=(), example="[oncall]"
    )
    language: Literal["en", "zh"] = setting("What alerts are written in.", default="en", example="zh")
    runbook_url: HttpAddress | None = setting(
        "Where the pages on alerts are read, if not in `docs/reference/alerts` of this program's source.",
        default=None, example="https://wiki.example.org/alerts",
    )  # fmt: skip
    external_url: HttpAddress | None = setting(
        "Where people reach Prometheus, for links in notifications; its listener is on loopback all the same.",
        default=None, example="https://monitor.example.org/prometheus",
    )  # fmt: skip

    @property
    def is_scraped(self) -> bool:
        """True when hosts are asked over the network, which takes certificates."""
        return self.node_exporter or self.exporter or self.prometheus


class Security(Section):
    """What is kept shut."""

    firewall: bool = setting(
        "Firewall on, with only the cluster's own ports open.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    firewall_program: Literal["auto", "nftables", "firewalld"] = setting(
        "What holds the rules; auto: firewalld on Rocky and Alma, nftables elsewhere.",
        cost=Cost.RESTART, default="auto", example="nftables",
    )  # fmt: skip
    ssh_from: tuple[Origin, ...] = setting(
        "Networks from which SSH may come in; any if empty.", default=(), example="[10.77.0.0/24]"
    )
    selinux: Literal["enforcing", "permissive"] = setting(
        "On hosts that have SELinux.", cost=Cost.REBOOT, default="enforcing", example="enforcing"
    )
    password_login: bool = setting("Passwords over SSH.", default=False, example="false")


class Time(Section):
    """Clocks."""

    zone: Zone = setting("Time zone of every host.", default="UTC", example="Asia/Shanghai")
    servers: tuple[ServerName, ...] = setting(
        "NTP servers of the control host; the others follow it.",
        cost=Cost.RESTART, default=(), example="[ntp1, pool.ntp.org]",
    )  # fmt: skip


class Jobs(Section):
    """What every training gets unless its job file says otherwise."""

    variables: dict[VariableName, Line] = setting(
        "Environment variables of every training; `wright tune` writes what it has found here."
        " NCCL's are in /etc/nccl.conf of compute hosts too, for jobs that are not ours.",
        default={}, example="{NCCL_ALGO: Tree}",
    )  # fmt: skip


class Lab(Section):
    """Present only in the file of a lab: virtual hosts on one machine. `apply` and `check` then go there."""

    rate_divisor: int = setting(
        "Network rates are divided by this before links are shaped.",
        default=100, example="100", least=1, most=1_000_000,
    )  # fmt: skip
    environment: HostPath | None = setting(
        "Python environment of this machine (with torch) that the hosts see read-only; ours if left out.",
        default=None, example="/opt/venv",
    )  # fmt: skip

    @staticmethod
    def folder(cluster: str) -> PurePosixPath:
        """Where the lab of that name keeps its state."""
        return PurePosixPath("/var/lib/clusterwright/labs") / cluster
