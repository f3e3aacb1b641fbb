"""Container settings of a job: runtime, mounts, and the Python inside the image."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job

PYTHON = "python3"  # in the PATH of the image
VARIABLE = "CLUSTERWRIGHT_MOUNTS"  # read by the program that starts Slurm's OCI containers


def image_settings(job: Job, cluster: Cluster) -> tuple[str, str, str, str] | None:
    """Return runtime, image, mounts and Python for the agents; None without an image."""
    if job.container is None:
        return None
    runtime_name = cluster.environments.runtime(job.container.image)
    paths = job.container.mounts
    if runtime_name == "pyxis":  # pyxis itself mounts homes only
        from clusterwright.provision.container_mounts import mounts

        shared = [mount.path for mount in mounts(cluster) if mount.path != "/home"]
        paths = tuple(dict.fromkeys((*shared, *paths)))
    return str(runtime_name), job.container.image, ":".join(paths), job.environment.python or PYTHON


def variables(job: Job, cluster: Cluster) -> dict[str, str]:
    """Return the environment variables of a job in Slurm's OCI containers: its mounts; empty for other jobs."""
    settings = image_settings(job, cluster)
    return {VARIABLE: settings[2]} if settings and settings[0] == "oci" and settings[2] else {}


def image_check_script(run: str, settings: tuple[str, ...], cluster: Cluster, run_module: str) -> str:
    """Return lines of bash that find a Python outside the image for the supervisor, and check the image."""
    outside = shlex.quote(cluster.software.python)
    return f"""# The supervisor runs outside the image, where Slurm's commands are; any Python of the host works.
outside=$(command -v {outside} || command -v python3)

# An image without Python or torch ends the run here, with the reason.
"$outside" {run_module} clusterwright.onhost.supervisor.inside {shlex.join((run, *settings))} || exit 1

"""
