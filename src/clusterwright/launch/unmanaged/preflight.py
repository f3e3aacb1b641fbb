"""Look before a submission, on the login host, whether the Python of the ranks has PyTorch."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.edge.host import Host
from clusterwright.launch.command import is_plain, python
from clusterwright.launch.local import EXIT_NO_TORCH, HAS_TORCH, without_torch


def require_torch(host: Host, job: Job, cluster: Cluster) -> None:
    """Check that agents can start ranks; jobs in an image or with their own launcher have a Python of their own.

    A Python that the login host does not have may be on the nodes all the same, and passes.

    Raises:
        WrightError: the Python of the ranks has no PyTorch.
    """
    if is_plain(job) or job.container:
        return
    chosen = python(job, cluster)
    if host.run(f"{shlex.quote(chosen)} -c {shlex.quote(HAS_TORCH)} </dev/null").code == EXIT_NO_TORCH:
        raise without_torch([chosen])
