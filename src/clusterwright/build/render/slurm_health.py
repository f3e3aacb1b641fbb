"""Prolog, epilog, health program, unkillable steps, reboots and power saving, as slurm.conf names them."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.build.render.slurm_releases import (
    health_timeout,
    prolog_flags,
    prolog_timeouts,
    release_of,
    suspend_states,
)
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.names import fold

PROGRAMS = "/etc/slurm/clusterwright"  # the programs themselves are of roles/job_hooks
PROLOG_S, EPILOG_S, HEALTH_S = 120, 300, 60
HEALTH_EVERY_S = 300
# Servers with 8 GPUs and 2 TiB take 10 to 15 minutes from a reboot to sshd: memory training, firmware.
REBOOT_S = 1200
SHUTDOWN_S = 300  # longer than systemd's 90 s for a unit that does not stop, and the BMC's own time


def health(cluster: Cluster) -> str:
    """Nothing where the file says that the site has programs of its own, or none."""
    if not cluster.slurm.health:
        return ""
    of = release_of(cluster)
    return f"""
# Before a job: is the host fit for it? On every host of it and before its first process (Alloc); the batch script
# waits for all of them (DeferBatch, where it is known). A prolog that fails drains its host.
PrologFlags={prolog_flags(of)}
Prolog={PROGRAMS}/prolog

# Tells a job where its scratch folder is.
TaskProlog={PROGRAMS}/task_prolog

# After a job: what it left behind goes.
Epilog={PROGRAMS}/epilog

# One that hangs must end, or the host waits for ever; removing what a job left takes longer than looking.
{_keys(prolog_timeouts(of, PROLOG_S, EPILOG_S))}

# The prolog and a minute: a batch script that has not begun by then is lost.
BatchStartTimeout={PROLOG_S + 60}

# The job is not held for a host that was not fit: it waits for another one.
SchedulerParameters=nohold_on_prolog_fail

# Between jobs: idle hosts look after themselves every five minutes, not all in the same second (CYCLE). Drained ones
# too (NONDRAINED_IDLE would leave them out): the program gives back what it has drained itself, once that is mended.
HealthCheckProgram={PROGRAMS}/health
HealthCheckInterval={HEALTH_EVERY_S}
HealthCheckNodeState=IDLE,CYCLE
{_keys(health_timeout(of, HEALTH_S))}

# Says what is known of a process that no signal ends.
UnkillableStepProgram={PROGRAMS}/unkillable
"""


def power(cluster: Cluster) -> str:
    """Reboots by `scontrol reboot`, and switching idle hosts off where the file says how."""
    saving = cluster.slurm.power_saving
    reboot = """
# `scontrol reboot ASAP HOST` reboots a host when its jobs have ended.
RebootProgram=/usr/sbin/reboot
"""
    if saving is None:
        return f"{reboot}ResumeTimeout={REBOOT_S}\n"
    keep = [host for group in saving.keep for host in cluster.nodes[group].names()]
    states = suspend_states(release_of(cluster))
    excepted = (f"SuspendExcNodes={fold(keep)}\n" if keep else "") + (
        f"SuspendExcStates={states}\n" if states else ""
    )
    return f"""{reboot}
# Hosts idle for so many seconds are switched off by the site's program, and on when jobs wait for them.
SuspendTime={saving.idle}
SuspendProgram={saving.suspend}
SuspendTimeout={SHUTDOWN_S}
ResumeProgram={saving.resume}
ResumeTimeout={saving.resume_timeout}
{excepted}"""


def _keys(rows: Mapping[str, int]) -> str:
    return "\n".join(f"{key}={value}" for key, value in rows.items())
