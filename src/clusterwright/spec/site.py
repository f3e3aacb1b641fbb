"""The smaller sections of the cluster file: access, software, Slurm, partitions, monitoring, security, lab."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from clusterwright.spec.field import Cost, Section, setting
from clusterwright.spec.names import AccountName, HostName, HostPath, Version, Word, Zone
from clusterwright.spec.quantities import Duration


class Access(Section):
    """How the hosts are reached; everything else is the business of ssh_config(5)."""

    user: AccountName | Literal["root"] = setting("Who logs in; needs root there, directly or by sudo.", default="root", example="root")
    port: int = setting("Port of sshd.", cost=Cost.RESTART, default=22, example="22")
    config: HostPath | None = setting("An ssh_config file to use in place of yours.", default=None, example="/etc/wright/ssh_config")


class Software(Section):
    """Versions that are the same on every host."""

    slurm: Version = setting("Slurm's version.", cost=Cost.RESTART, default="22.05", example='"25.11"')
    driver: Version | None = setting("NVIDIA driver.", cost=Cost.REBOOT, default=None, example='"580.95"')
    cuda: Version | None = setting("CUDA toolkit.", cost=Cost.DRAIN, default=None, example='"12.8"')
    cudnn: Version | None = setting("cuDNN.", cost=Cost.DRAIN, default=None, example='"9.8"')
    nccl: Version | None = setting("NCCL.", cost=Cost.DRAIN, default=None, example='"2.27"')
    python: HostPath = setting(
        "The Python with torch that trainings use.", default="/opt/clusterwright/env/bin/python", example="/opt/env/bin/python"
    )


class SlurmSettings(Section):
    """What of slurm.conf a site decides."""

    node_timeout: Duration = setting(
        "Silence after which a node counts as lost (SlurmdTimeout; Slurm's own default is 300s).",
        cost=Cost.RESTART, default=60, example="60s",
    )  # fmt: skip
    kill_wait: Duration = setting("From SIGTERM to SIGKILL for a job that must go.", cost=Cost.LIVE, default=30, example="60s")
    ports: tuple[int, int] = setting(
        "Ports that srun listens on, so that a firewall can open them.", cost=Cost.RESTART, default=(60001, 63000), example="[60001, 63000]"
    )


class Partition(Section):
    """A queue of Slurm's."""

    nodes: tuple[Word, ...] = setting("Node groups in it.", cost=Cost.LIVE, example="[a100]")
    default: bool = setting("Jobs that name none go here.", default=False, example="true")
    max_time: Duration = setting("Longest time a job may ask.", default=7 * 86400, example="7d")
    gpus_per_node: int | None = setting("Most GPUs of one host a job may ask; all if left out.", default=None, example="4")
    teams: tuple[AccountName, ...] = setting("Teams that may use it; all if empty.", default=(), example="[vision]")


class Monitoring(Section):
    """What is measured, and where it is kept."""

    node_exporter: bool = setting("Host metrics on port 9100 of the management network.", default=True, example="true")
    prometheus: bool = setting("Prometheus on the control host.", default=False, example="true")
    retention: Duration = setting("How long metrics are kept.", default=30 * 86400, example="30d")
    notify: tuple[Word, ...] = setting("Receivers of alerts, named in the site's secrets.", default=(), example="[oncall]")


class Security(Section):
    """What is kept shut."""

    firewall: bool = setting("nftables on, with only the cluster's own ports open.", default=True, example="true")
    selinux: Literal["enforcing", "permissive"] = setting("On hosts that have SELinux.", cost=Cost.REBOOT, default="enforcing", example="enforcing")
    password_login: bool = setting("Passwords over SSH.", default=False, example="false")


class Time(Section):
    """Clocks."""

    zone: Zone = setting("Time zone of every host.", default="UTC", example="Asia/Shanghai")
    servers: tuple[HostName, ...] = setting("NTP servers of the control host; the others follow it.", default=(), example="[ntp1]")


class Lab(Section):
    """Present only in the file of a lab: virtual hosts on one machine. `apply` and `check` then go there."""

    rate_divisor: int = setting("Network rates are divided by this before links are shaped.", default=100, example="100")
    environment: HostPath | None = setting(
        "Python environment of this machine (with torch) that the hosts see read-only; ours if left out.", default=None, example="/opt/venv"
    )

    @staticmethod
    def folder(cluster: str) -> PurePosixPath:
        """Where the lab of that name keeps its state."""
        return PurePosixPath("/var/lib/clusterwright/labs") / cluster
