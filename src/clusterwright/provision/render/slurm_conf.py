"""slurm.conf, the same on every host."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.render.power import power
from clusterwright.provision.render.site_slurm_conf import site_slurm_conf
from clusterwright.provision.render.slurm_accounting import accounting
from clusterwright.provision.render.slurm_nodes import nodes, partitions
from clusterwright.provision.render.slurm_options import with_options
from clusterwright.provision.render.slurm_releases import (
    health_timeout,
    prolog_flags,
    prolog_timeouts,
    release_of,
)
from clusterwright.provision.render.slurm_scheduler import scheduler
from clusterwright.provision.render.slurm_settings import slurm_settings

PROGRAMS = "/etc/slurm/clusterwright"  # the programs themselves are of roles/job_hooks
PROLOG_S, EPILOG_S, HEALTH_S = 120, 300, 60
HEALTH_EVERY_S = 300
CONTAIN = """
# SSH logins run in a step of the job (pam_slurm_adopt).
PrologFlags=Contain
"""


def health(cluster: Cluster) -> str:
    """Return slurm.conf's health check, prolog and epilog; without our own checks, only the step of SSH logins."""
    if not cluster.slurm.health:
        return CONTAIN * contains_logins(cluster)
    slurm_release = release_of(cluster)
    return f"""
# The prolog verifies the host before a job: on every host and before its first process (Alloc). The batch script waits
# for all of them (DeferBatch, if supported). A failed prolog drains its host. SSH logins run in a step of the job
# (Contain, for pam_slurm_adopt).
PrologFlags={prolog_flags(slurm_release)}{",Contain" * contains_logins(cluster)}
Prolog={PROGRAMS}/prolog

# Sets the scratch folder of a job.
TaskProlog={PROGRAMS}/task_prolog

# The epilog removes what a job left behind.
Epilog={PROGRAMS}/epilog

# A hanging program must end, or the host would wait forever; removing leftovers takes longer than checking.
{_keys(prolog_timeouts(slurm_release, PROLOG_S, EPILOG_S))}

# The time of the prolog and a minute: a batch script that has not started by then is lost.
BatchStartTimeout={PROLOG_S + 60}

# A job whose prolog failed is requeued, not held.
SchedulerParameters=nohold_on_prolog_fail

# Idle hosts run the health program every five minutes, not all in the same second (CYCLE). So do drained hosts
# (NONDRAINED_IDLE would omit them): the program resumes hosts that it drained itself, once the fault is fixed.
HealthCheckProgram={PROGRAMS}/health
HealthCheckInterval={HEALTH_EVERY_S}
HealthCheckNodeState=IDLE,CYCLE
{_keys(health_timeout(slurm_release, HEALTH_S))}

# Stores what is known about a process that survives signals.
UnkillableStepProgram={PROGRAMS}/unkillable
"""


def contains_logins(cluster: Cluster) -> bool:
    """Return whether SSH logins of users run in their jobs."""
    return cluster.security.login == "jobs-only"


def _keys(rows: Mapping[str, int]) -> str:
    return "\n".join(f"{key}={value}" for key, value in rows.items())


@cache_per_instance
def slurm_conf(cluster: Cluster, header: str) -> str:
    """Return the text of slurm.conf: settings with their reasons as comments, then nodes, then partitions.

    With `slurm.defaults: slurm` only what the cluster file sets.
    """
    if cluster.slurm.defaults == "slurm":
        return header + site_slurm_conf(cluster)
    settings = (
        slurm_settings(cluster) + health(cluster) + power(cluster) + scheduler(cluster) + accounting(cluster)
    )
    paragraphs = [part.strip("\n") for part in settings.split("\n\n") if part.strip()]
    paragraphs = with_options(paragraphs, cluster.slurm.options)
    return header + "".join(f"\n{part}\n" for part in paragraphs) + nodes(cluster) + partitions(cluster)
