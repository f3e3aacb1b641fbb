"""Power saving: the settings in slurm.conf and of the power control service on the control host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.names import fold
from clusterwright.config.power_saving import PowerSaving, Program
from clusterwright.provision.render.slurm_releases import release_of, suspend_states

PROGRAMS = "/etc/slurm/clusterwright"
# Servers with 8 GPUs and 2 TiB take 10 to 15 minutes from a reboot to sshd: memory training, firmware.
REBOOT_S = 1200
# Measured with 22.05: hosts had joined after 6 s, but the batch script started at the next half minute.
_JOINED = f"""
# slurmctld checks every 30 s whether the hosts of a job have booted, and at once when this program ends, which waits
# for them.
PrologSlurmctld={PROGRAMS}/power_joined
"""


def power(cluster: Cluster) -> str:
    """Return slurm.conf's settings for `scontrol reboot`, and for power saving if the cluster file has it."""
    saving = cluster.slurm.power_saving
    reboot = """
# `scontrol reboot ASAP HOST` reboots a host when its jobs have ended.
RebootProgram=/usr/sbin/reboot
"""
    if saving is None:
        return f"{reboot}ResumeTimeout={REBOOT_S}\n"
    joined = _JOINED if saving.provider is not None else ""
    return f"{reboot}{_why(saving)}{_programs(saving)}{_excepted(cluster, saving)}{joined}"


def _why(saving: PowerSaving) -> str:
    if saving.provider is None:
        return """
# The site's program powers off hosts that are idle for this many seconds, and powers them on when jobs wait for them.
"""
    return """
# Hosts that are idle for this many seconds are powered off, and on when jobs wait for them. The programs return at
# once: a service on this host (clusterwright-power.service) does the work and retries hosts that do not boot in time.
"""


def _programs(saving: PowerSaving) -> str:
    ours = saving.provider is not None
    suspend = f"{PROGRAMS}/power_off" if ours else saving.suspend
    resume = f"{PROGRAMS}/power_on" if ours else saving.resume
    failed = f"ResumeFailProgram={PROGRAMS}/power_failed\n" if ours else ""
    return f"""SuspendTime={saving.idle}
SuspendProgram={suspend}
SuspendTimeout={saving.suspend_timeout}
ResumeProgram={resume}
ResumeTimeout={saving.resume_timeout}
{failed}"""


def _excepted(cluster: Cluster, saving: PowerSaving) -> str:
    """Return the lines SuspendExcNodes and SuspendExcStates: spares, excluded groups and states; "" if there are none.

    Slurm expects entries with a count (the spares) first.
    """
    excluded_hosts = [host for group in saving.exclude for host in cluster.nodes[group].names()]
    managed_hosts = [host.name for host in power_saving_hosts(cluster)]
    exceptions = [f"{fold(managed_hosts)}:{saving.spares}"] if saving.spares and saving.provider else []
    exceptions += [fold(excluded_hosts)] if excluded_hosts else []
    states = suspend_states(release_of(cluster))
    return (f"SuspendExcNodes={','.join(exceptions)}\n" if exceptions else "") + (
        f"SuspendExcStates={states}\n" if states else ""
    )


def power_saving_hosts(cluster: Cluster) -> tuple[Host, ...]:
    """Return the compute hosts that power saving may power off: those of groups that the file does not exclude.

    Empty without power saving.
    """
    saving = cluster.slurm.power_saving
    return tuple(
        host
        for host in cluster.hosts("compute")
        if saving is not None and host.group_name not in saving.exclude
    )


def power_settings(cluster: Cluster, saving: PowerSaving) -> str:
    """Return the power control service's settings as JSON.

    In a lab, the lab simulates the BMCs, so they have no address.
    """
    provider = _provider(cluster, saving)
    bmc: Mapping[str, Any] = getattr(saving.provider, "bmc", {}) if provider["kind"] != "lab" else {}
    hosts: dict[str, dict[str, str]] = {}
    for host in power_saving_hosts(cluster):
        offset = next(index for index, name in host.group.places() if name == host.name)
        hosts[host.name] = {"bmc": str(bmc[host.group_name] + offset)} if host.group_name in bmc else {}
    document = {
        "provider": provider,
        "hosts": hosts,
        "resume_timeout": saving.resume_timeout,
        "suspend_timeout": saving.suspend_timeout,
        "spares": saving.spares,
        "max_attempts": saving.max_attempts,
        "retry_after": saving.retry_after,
    }
    return json.dumps(document, indent=1) + "\n"


def _provider(cluster: Cluster, saving: PowerSaving) -> dict[str, Any]:
    if saving.provider is None or (cluster.lab is not None and not isinstance(saving.provider, Program)):
        return {"kind": "lab"}
    return saving.provider.model_dump(mode="json", exclude={"bmc"})
