"""oci.conf: how Slurm starts a step in an image. Each step reads it, so a change affects no running job."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster

LIBRARY = "/opt/clusterwright/lib"
# By path: with -m, files of the job's folder would precede the library's.
PROGRAM = f"env PYTHONPATH={LIBRARY} python3 {LIBRARY}/clusterwright/onhost/containers/in_image.py"
STOPPED = "/opt/clusterwright/containers/stopped.json"
STATE = "/run/clusterwright-oci"
NAME = "%u.%j.%s.%t"  # user, job, step and task: one for each container of a host


def oci_conf(_cluster: Cluster, header: str) -> str:
    """Return oci.conf with keys that every release since 21.08 accepts.

    Slurm sees all processes of a container and ends them itself, so queries to the runtime have fixed answers
    here. A root process that read the state of a user would do what that user wrote.
    """
    return f"""{header}
# Runs as the step's user; only the file system is the image's (see the program).
RunTimeRun="exec {PROGRAM} %b {NAME} %n"

# Processes are in Slurm's own cgroup, which ends them; the runtime has nothing to report.
RunTimeQuery="cat {STOPPED}"
RunTimeKill="true"
RunTimeDelete="rm -rf {STATE}/{NAME}.* /tmp/slurm-{NAME}.*"
"""
