"""The lines of slurm.conf whose change `scontrol reconfigure` applies, so that no daemon restarts for them.

Before 23.11: keys that slurm.conf(5) does not mark with "a restart is required", and whose change slurmctld and slurmd
of 22.05 were observed to apply. Since 23.11 a reload starts new daemons that replace the old ones, and scontrol(1)
excepts only ports and authentication; the accounts and state folders of daemons are added here.
"""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.provision.render.slurm_releases import reconfigures_by_new_process, release_of

BY_RELOAD = (
    "BatchStartTimeout", "EnforcePartLimits", "Epilog", "EpilogTimeout", "HealthCheckInterval",
    "HealthCheckNodeState", "HealthCheckProgram", "JobRequeue", "KillWait", "LaunchParameters",
    "MailProg", "MessageTimeout", "MinJobAge", "PartitionName", "PriorityDecayHalfLife", "PriorityMaxAge",
    "PriorityWeightAge", "PriorityWeightFairshare", "PriorityWeightJobSize", "PriorityWeightQOS", "Prolog",
    "PrologEpilogTimeout", "PrologTimeout", "PropagateResourceLimitsExcept", "RebootProgram", "ReconfigFlags",
    "ResumeFailProgram", "ResumeProgram", "ResumeTimeout", "ReturnToService", "SchedulerParameters", "SlurmdTimeout",
    "SuspendExcNodes", "SuspendExcStates", "SuspendProgram", "SuspendTime", "SuspendTimeout", "TreeWidth",
    "UnkillableStepProgram", "UnkillableStepTimeout",
)  # fmt: skip
BY_RESTART = (
    "AuthAltParameters", "AuthAltTypes", "AuthInfo", "AuthType", "ClusterName", "CredType", "PluginDir", "SlurmUser",
    "SlurmctldHost", "SlurmctldParameters", "SlurmctldPidFile", "SlurmctldPort", "SlurmdPidFile", "SlurmdPort",
    "SlurmdSpoolDir", "SlurmdUser", "StateSaveLocation",
)  # fmt: skip


def gentle(cluster: Cluster) -> str:
    """Return the pattern for File.gentle: it matches the start of each line of slurm.conf that a reload applies."""
    if reconfigures_by_new_process(release_of(cluster)):
        return f"(?i)(?!({'|'.join(BY_RESTART)})\\s*=)"
    return f"(?i)({'|'.join(BY_RELOAD)})\\s*="
