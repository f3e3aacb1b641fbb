"""slurm.conf, the same on every host."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.render.power import power
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


def health(cluster: Cluster) -> str:
    """Return the health check and hooks; empty if the site has its own or none."""
    if not cluster.slurm.health:
        return ""
    slurm_release = release_of(cluster)
    return f"""
# Before a job: is the host fit for it? On every host of it and before its first process (Alloc); the batch script
# waits for all of them (DeferBatch, where it is known). A prolog that fails drains its host.
PrologFlags={prolog_flags(slurm_release)}
Prolog={PROGRAMS}/prolog

# Tells a job where its scratch folder is.
TaskProlog={PROGRAMS}/task_prolog

# After a job: what it left behind goes.
Epilog={PROGRAMS}/epilog

# One that hangs must end, or the host waits for ever; removing what a job left takes longer than looking.
{_keys(prolog_timeouts(slurm_release, PROLOG_S, EPILOG_S))}

# The prolog and a minute: a batch script that has not begun by then is lost.
BatchStartTimeout={PROLOG_S + 60}

# The job is not held for a host that was not fit: it waits for another one.
SchedulerParameters=nohold_on_prolog_fail

# Between jobs: idle hosts look after themselves every five minutes, not all in the same second (CYCLE). Drained ones
# too (NONDRAINED_IDLE would leave them out): the program gives back what it has drained itself, once that is fixed.
HealthCheckProgram={PROGRAMS}/health
HealthCheckInterval={HEALTH_EVERY_S}
HealthCheckNodeState=IDLE,CYCLE
{_keys(health_timeout(slurm_release, HEALTH_S))}

# Says what is known of a process that no signal ends.
UnkillableStepProgram={PROGRAMS}/unkillable
"""


def _keys(rows: Mapping[str, int]) -> str:
    return "\n".join(f"{key}={value}" for key, value in rows.items())


@cache_per_instance
def slurm_conf(cluster: Cluster, header: str) -> str:
    """Return slurm.conf: settings with their reasons, nodes, partitions."""
    settings = (
        slurm_settings(cluster) + health(cluster) + power(cluster) + scheduler(cluster) + accounting(cluster)
    )
    paragraphs = [part.strip("\n") for part in settings.split("\n\n") if part.strip()]
    paragraphs = with_options(paragraphs, cluster.slurm.options)
    return header + "".join(f"\n{part}\n" for part in paragraphs) + nodes(cluster) + partitions(cluster)
