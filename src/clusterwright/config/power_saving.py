"""Idle hosts are switched off, and on again when jobs wait for them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostPath, Identifier
from clusterwright.config.nodes import Address
from clusterwright.config.quantities import Duration

_MAX_SLURM_SECONDS = 65533  # slurm.conf(5): ResumeTimeout and SuspendTimeout are 16 bits
PASSWORD = "/etc/slurm/power.password"  # noqa: S105 (where it lies, not what it is)


class Program(Section):
    """The site's own programs, each called with names of hosts, one a word; ours ask Slurm and try again."""

    kind: Literal["program"] = setting("The site's own programs.", example="program")
    on: HostPath = setting("Switches the hosts on that are named to it.", example="/opt/site/on")
    off: HostPath = setting("Switches the hosts off that are named to it.", example="/opt/site/off")
    state: HostPath | None = setting(
        "Prints `HOST on` or `HOST off` for each host named to it; if left out, its word for the others is taken.",
        default=None, example="/opt/site/state",
    )  # fmt: skip


class _Bmc(Section):
    """What all management controllers need: where they are, and who we are to them."""

    bmc: Annotated[dict[Identifier, Address], Field(min_length=1)] = setting(
        "Address of the management controller of each group's first host; the next host has the next one.",
        example="{a100: 10.0.9.11}",
    )
    user: Identifier = setting("Who logs in there.", default="admin", example="slurm")
    password_file: HostPath = setting(
        "File of the control host with the password in its first line: slurm's own, and readable by nobody else.",
        default=PASSWORD, example="/etc/slurm/bmc.password",
    )  # fmt: skip


class Redfish(_Bmc):
    """Management controllers that speak Redfish over HTTPS."""

    kind: Literal["redfish"] = setting("Redfish, over HTTPS.", example="redfish")
    certificate: Literal["verify", "any"] = setting(
        "Whose certificates are believed; with any, who stands in the way reads the password.",
        default="verify", example="any",
    )  # fmt: skip
    authority: HostPath | None = setting(
        "File of the control host with the certificate of the site's own authority; the system's if left out.",
        default=None, example="/etc/ssl/site.pem",
    )  # fmt: skip


class Ipmi(_Bmc):
    """Management controllers that speak IPMI 2.0 over the network, by ipmitool."""

    kind: Literal["ipmi"] = setting("IPMI 2.0, by ipmitool.", example="ipmi")


class LabPower(Section):
    """The lab's own power switch."""

    kind: Literal["lab"] = setting("The lab's own switch.", example="lab")


Provider = Annotated[Program | Redfish | Ipmi | LabPower, Field(discriminator="kind")]


class PowerSaving(Section):
    """Idle hosts are switched off, and on again when jobs wait for them."""

    idle: Duration = setting(
        "Idle time after which a host is switched off (SuspendTime).", cost=Cost.RECONFIGURE, example="30m"
    )
    provider: Provider | None = setting(
        "Who holds the switch; if left out, Slurm calls the programs `suspend` and `resume`.",
        cost=Cost.RESTART, default=None,
    )  # fmt: skip
    suspend: HostPath | None = setting(
        "Switches hosts off; Slurm calls it with a hostlist.",
        cost=Cost.RECONFIGURE, default=None, example="/opt/site/power-off",
    )  # fmt: skip
    resume: HostPath | None = setting(
        "Switches hosts on; Slurm calls it with a hostlist.",
        cost=Cost.RECONFIGURE, default=None, example="/opt/site/power-on",
    )  # fmt: skip
    # Servers with 8 GPUs and 2 TiB take 10 to 15 minutes from power to sshd: memory training, firmware.
    resume_timeout: Duration = setting(
        "Longest time from power-on to slurmd's first word.",
        cost=Cost.RECONFIGURE, default="20m", example="20m", least=5, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    # Longer than systemd's 90 s for a unit that does not stop, and the management controller's own time.
    suspend_timeout: Duration = setting(
        "Time that a host has to be off; until it is over, no job can ask for it (SuspendTimeout).",
        cost=Cost.RECONFIGURE, default="5m", example="3m", least=5, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    exclude: tuple[Identifier, ...] = setting(
        "Node groups that always stay on.", cost=Cost.RECONFIGURE, default=(), example="[a100]"
    )
    spares: int = setting(
        "Idle hosts that are kept on, so that small jobs do not wait for a boot; needs a provider.",
        cost=Cost.RECONFIGURE, default=0, example="2", least=0, most=65536,
    )  # fmt: skip
    max_attempts: int = setting(
        "Boots of one host that may fail in a row; then it is drained, with the reason. Needs a provider.",
        default=3, example="5", least=1, most=100,
    )  # fmt: skip
    retry_after: Duration = setting(
        "Pause after a boot that failed; twice as long after each further one. Needs a provider.",
        default="5m", example="2m", least=1, most=86400,
    )  # fmt: skip
