"""Power saving: Slurm powers idle hosts down, and up again for jobs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostPath, Identifier
from clusterwright.config.nodes import Address
from clusterwright.config.quantities import Duration

_MAX_SLURM_SECONDS = 65533  # slurm.conf(5): ResumeTimeout and SuspendTimeout are 16 bits
PASSWORD = "/etc/slurm/power.password"  # nosec B105 # noqa: S105 (where it lies, not what it is)


class Program(Section):
    """Power control by programs of the site, called with host names as arguments and retried on failure."""

    kind: Literal["program"] = setting(
        "Programs of the site that power hosts up and down.", example="program"
    )
    on: HostPath = setting("Program that powers up the hosts in its arguments.", example="/opt/site/on")
    off: HostPath = setting("Program that powers down the hosts in its arguments.", example="/opt/site/off")
    state: HostPath | None = setting(
        "Program that prints `HOST on` or `HOST off` for each argument; not set: power states are not verified.",
        default=None, example="/opt/site/state",
    )  # fmt: skip


class _Bmc(Section):
    """Settings that all management controllers (BMC) need: addresses and login."""

    bmc: Annotated[dict[Identifier, Address], Field(min_length=1)] = setting(
        "Address of the BMC of each group's first host; the next hosts have the next addresses.",
        example="{a100: 10.0.9.11}",
    )
    user: Identifier = setting(
        "User name with which the controller logs in to the BMC.", default="admin", example="slurm"
    )
    password_file: HostPath = setting(
        "File on the control host with the password in its first line, owned by slurm, mode 0600.",
        default=PASSWORD, example="/etc/slurm/bmc.password",
    )  # fmt: skip


class Redfish(_Bmc):
    """Power control through Redfish over HTTPS."""

    kind: Literal["redfish"] = setting("Redfish over HTTPS.", example="redfish")
    certificate: Literal["verify", "any"] = setting(
        "Verification of BMC certificates; any: none, which exposes the password to a man in the middle.",
        default="verify", example="any",
    )  # fmt: skip
    authority: HostPath | None = setting(
        "File on the control host with the CA certificate of the site; default: the CAs of the system.",
        default=None, example="/etc/ssl/site.pem",
    )  # fmt: skip


class Ipmi(_Bmc):
    """Power control through IPMI 2.0 over the network, with ipmitool."""

    kind: Literal["ipmi"] = setting("IPMI 2.0 with ipmitool.", example="ipmi")


class LabPower(Section):
    """Simulated power control of a lab."""

    kind: Literal["lab"] = setting("Simulated power control of a lab.", example="lab")


Provider = Annotated[Program | Redfish | Ipmi | LabPower, Field(discriminator="kind")]


class PowerSaving(Section):
    """Power saving: Slurm powers idle hosts down, and up again for jobs."""

    idle: Duration = setting(
        "Idle time after which a host is powered down (SuspendTime).", cost=Cost.RECONFIGURE, example="30m"
    )
    provider: Provider | None = setting(
        "Power control; not set: Slurm calls the programs `suspend` and `resume`.",
        cost=Cost.RESTART, default=None,
    )  # fmt: skip
    suspend: HostPath | None = setting(
        "Program that powers down hosts; Slurm calls it with a hostlist (SuspendProgram).",
        cost=Cost.RECONFIGURE, default=None, example="/opt/site/power-off",
    )  # fmt: skip
    resume: HostPath | None = setting(
        "Program that powers up hosts; Slurm calls it with a hostlist (ResumeProgram).",
        cost=Cost.RECONFIGURE, default=None, example="/opt/site/power-on",
    )  # fmt: skip
    # Servers with 8 GPUs and 2 TiB take 10 to 15 minutes from power-up to sshd: memory training, firmware.
    resume_timeout: Duration = setting(
        "Maximum time from power-up to the registration of slurmd (ResumeTimeout).",
        cost=Cost.RECONFIGURE, default="20m", example="20m", least=5, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    # Longer than systemd's stop timeout of 90 s plus the time of the BMC.
    suspend_timeout: Duration = setting(
        "Maximum time to power down a host; no job can request it before that (SuspendTimeout).",
        cost=Cost.RECONFIGURE, default="5m", example="3m", least=5, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    exclude: tuple[Identifier, ...] = setting(
        "Node groups that are never powered down.", cost=Cost.RECONFIGURE, default=(), example="[a100]"
    )
    spares: int = setting(
        "Idle hosts that stay powered up, so that small jobs do not wait for a boot. Needs a provider.",
        cost=Cost.RECONFIGURE, default=0, example="2", least=0, most=65536,
    )  # fmt: skip
    max_attempts: int = setting(
        "Consecutive boot failures after which a host is drained, with the reason. Needs a provider.",
        default=3, example="5", least=1, most=100,
    )  # fmt: skip
    retry_after: Duration = setting(
        "Pause after a failed boot; doubles with each failure. Needs a provider.",
        default="5m", example="2m", least=1, most=86400,
    )  # fmt: skip
