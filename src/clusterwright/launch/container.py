"""A job in an image: with what it is started, what it sees of the hosts, and which Python runs in it."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.config.images import runtime
from clusterwright.config.job import Job

PYTHON = "python3"  # the image's own, as its PATH finds it
VARIABLE = "CLUSTERWRIGHT_MOUNTS"  # read where Slurm's own containers are started


def image_settings(job: Job, cluster: Cluster) -> tuple[str, str, str, str] | None:
    """Runtime, image, mounts and Python, as the agents take them; none without an image."""
    if job.container is None:
        return None
    runtime_name = runtime(job.container.image, cluster)
    paths = job.container.mounts
    if runtime_name == "pyxis":  # which mounts homes by itself, and no other folder of ours
        from clusterwright.provision.container_mounts import mounts

        shared = [mount.path for mount in mounts(cluster) if mount.path != "/home"]
        paths = tuple(dict.fromkeys((*shared, *paths)))
    return str(runtime_name), job.container.image, ":".join(paths), job.environment.python or PYTHON


def variables(job: Job, cluster: Cluster) -> dict[str, str]:
    """What Slurm's own containers are told by their environment."""
    settings = image_settings(job, cluster)
    return {VARIABLE: settings[2]} if settings and settings[0] == "oci" and settings[2] else {}


def image_check_script(run: str, settings: tuple[str, ...], cluster: Cluster) -> str:
    """Lines of bash: a Python outside for the supervisor, and a look at the image before anything waits for it."""
    outside = shlex.quote(cluster.software.python)
    return f"""# The supervisor stays outside, where Slurm's commands are: any Python of the host will do.
outside=$(command -v {outside} || command -v python3)

# An image without Python or torch ends the run here, with the reason.
"$outside" -m clusterwright.onhost.supervisor.inside {shlex.join((run, *settings))} || exit 1

"""
