"""The part of the script that brings data to the hosts' own disks before the ranks start."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.scratch import scratch_of
from clusterwright.launch.share import partition

PREFIX = "CLUSTERWRIGHT_STAGED"
MODULE = "clusterwright.onhost.supervisor.staging.stage"


def staging(job: Job, cluster: Cluster) -> str:
    """One step on every host, held-ready ones too; the job ends here where one of them cannot have it all."""
    paths = [data.path for data in job.data if data.stage == "local"]
    scratch = scratch_of(cluster, partition(job, cluster))
    if not paths or scratch is None:
        return ""
    words = shlex.join([cluster.software.python, "-m", MODULE, scratch, *paths])
    return f"""# Copied once to each host's own disk; the team's next job finds it there. A path behind ${PREFIX}
# is local: os.environ.get("{PREFIX}", "") + "{paths[0]}" is the copy, and the original where nothing is staged.
srun --ntasks-per-node=1 --no-kill --kill-on-bad-exit=0 --quiet {words} || exit 1
export {PREFIX}={shlex.quote(scratch)}/jobs/$SLURM_JOB_ID/data"""
