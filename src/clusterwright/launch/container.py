"""A job in an image: with what it is started, what it sees of the hosts, and which Python runs in it."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.config.images import runtime
from clusterwright.config.job import Job

PYTHON = "python3"  # the image's own, as its PATH finds it
VARIABLE = "CLUSTERWRIGHT_MOUNTS"  # read where Slurm's own containers are started


def words(job: Job, cluster: Cluster) -> tuple[str, str, str, str] | None:
    """Runtime, image, mounts and Python, as the agents take them; none without an image."""
    if job.container is None:
        return None
    found = runtime(job.container.image, cluster)
    mounts = job.container.mounts
    if found == "pyxis":  # which knows of no folder of ours by itself, but for homes
        ours = [each.path for each in mounts(cluster) if each.path != "/home"]
        mounts = tuple(dict.fromkeys((*ours, *mounts)))
    return str(found), job.container.image, ":".join(mounts), job.environment.python or PYTHON


def variables(job: Job, cluster: Cluster) -> dict[str, str]:
    """What Slurm's own containers are told by their environment."""
    told = words(job, cluster)
    return {VARIABLE: told[2]} if told and told[0] == "oci" and told[2] else {}


def look(run: str, told: tuple[str, ...], cluster: Cluster) -> str:
    """Lines of bash: a Python outside for the supervisor, and a look at the image before anything waits for it."""
    outside = shlex.quote(cluster.software.python)
    return f"""# The supervisor stays outside, where Slurm's commands are: any Python of the host will do.
outside=$(command -v {outside} || command -v python3)

# An image without Python or torch ends the run here, with the reason.
"$outside" -m clusterwright.onhost.supervisor.inside {shlex.join((run, *told))} || exit 1

"""
