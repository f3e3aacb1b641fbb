"""The smaller sections of the cluster file: access, software, Slurm, monitoring, security, lab."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field

from clusterwright.spec.field import Cost, Section, setting
from clusterwright.spec.names import AccountName, HostName, HostPath, LoginName, Version, Word, Zone
from clusterwright.spec.quantities import Duration

_MAX_PORT = 65535  # 16 bits
_MAX_SLURM_SECONDS = 65533  # slurm.conf(5): SlurmdTimeout and KillWait "may not exceed 65533"

Port = Annotated[int, Field(ge=1, le=_MAX_PORT)]


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
    driver: Version | None = setting("NVIDIA driver.", cost=Cost.REBOOT, default=None, example='"580.95"')
    cuda: Version | None = setting("CUDA toolkit.", cost=Cost.DRAIN, default=None, example='"12.8"')
    cudnn: Version | None = setting("cuDNN.", cost=Cost.DRAIN, default=None, example='"9.8"')
    nccl: Version | None = setting("NCCL.", cost=Cost.DRAIN, default=None, example='"2.27"')
    python: HostPath = setting(
        "The Python with torch that trainings use.",
        default="/opt/clusterwright/env/bin/python", example="/opt/env/bin/python",
    )  # fmt: skip


class SlurmSettings(Section):
    """What of slurm.conf a site decides."""

    node_timeout: Duration = setting(
        "Silence after which a node counts as lost (SlurmdTimeout; Slurm's own default is 300s).",
        cost=Cost.RESTART, default="60s", example="60s", least=5, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    kill_wait: Duration = setting(
        "From SIGTERM to SIGKILL for a job that must go.",
        cost=Cost.LIVE, default="30s", example="60s", least=1, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    ports: tuple[Port, Port] = setting(
        "First and last port that srun listens on, so that a firewall can open them.",
        cost=Cost.RESTART, default=(60001, 63000), example="[60001, 63000]",
    )  # fmt: skip


class Partition(Section):
    """A queue of Slurm's."""

    nodes: Annotated[tuple[Word, ...], Field(min_length=1)] = setting(
        "Node groups in it.", cost=Cost.LIVE, example="[a100]"
    )
    default: bool = setting("Jobs that name none go here.", default=False, example="true")
    # A year: longer than any training; Slurm would take 2^32 minutes.
    max_time: Duration = setting(
        "Longest time a job may ask.", default="7d", example="7d", least=60, most=366 * 86400
    )
    gpus_per_node: int | None = setting(
        "Most GPUs of one host a job may ask; all if left out.", default=None, example="4", least=1, most=128
    )
    teams: tuple[AccountName, ...] = setting(
        "Teams that may use it; all if empty.", default=(), example="[vision]"
    )


class Monitoring(Section):
    """What is measured, and where it is kept."""

    node_exporter: bool = setting(
        "Host metrics on port 9100 of the management network.", default=True, example="true"
    )
    prometheus: bool = setting("Prometheus on the control host.", default=False, example="true")
    retention: Duration = setting("How long metrics are kept.", default="30d", example="30d", least=3600)
    notify: tuple[Word, ...] = setting(
        "Receivers of alerts, named in the site's secrets.", default=(), example="[oncall]"
    )


class Security(Section):
    """What is kept shut."""

    firewall: bool = setting(
        "nftables on, with only the cluster's own ports open.", default=True, example="true"
    )
    selinux: Literal["enforcing", "permissive"] = setting(
        "On hosts that have SELinux.", cost=Cost.REBOOT, default="enforcing", example="enforcing"
    )
    password_login: bool = setting("Passwords over SSH.", default=False, example="false")


class Time(Section):
    """Clocks."""

    zone: Zone = setting("Time zone of every host.", default="UTC", example="Asia/Shanghai")
    servers: tuple[HostName, ...] = setting(
        "NTP servers of the control host; the others follow it.", default=(), example="[ntp1]"
    )


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
