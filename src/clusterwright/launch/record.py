"""Write job.json, the record of a run for its supervisor, agents, successor jobs and reports."""

from __future__ import annotations

import json
import shlex
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.command import launch_of
from clusterwright.onhost.supervisor.job import NAME, SCHEMA

_END = "END_OF_JOB_JSON"


def record(
    job: Job, cluster: Cluster | None, run: str, submitted: float, *, network: str = "", **more: Any
) -> str:
    """Return the text of job.json for a run in the folder `run`; `more`: user, GPU price and peak, digest of the code.

    Without a cluster the run is local, unless `more` says otherwise. `network`: that of agents and ranks, in place of
    the cluster's.
    """
    launch = launch_of(job, cluster, run)._asdict()
    document = {
        "schema": SCHEMA,
        "run": run.rstrip("/").rpartition("/")[2],
        "user": job.user,
        "submitted": submitted,
        "local": cluster is None,
        "price": None,
        "gpu": None,
        "code": None,
        **more,
        "job": job.model_dump(mode="json"),
        "launch": launch | (networks(network) if network else {}),
    }
    return json.dumps(document, indent=2)


def networks(network: str) -> dict[str, str]:
    """Return the fields of `launch` that make a network, such as 10.0.0.0/24, that of agents and ranks."""
    return {"management": network, "compute": network}


def with_record(script: str, run: str, text: str) -> str:
    """Return a batch script for submission by hand, which writes the run's job.json before the supervisor starts.

    `text` is the content of job.json.
    """
    lines, folder = script.splitlines(), shlex.quote(run)
    start = 2 if lines[-2].startswith("#") else 1  # `exec` and the comment above it
    write = f"mkdir -p {folder} && cat >{folder}/{NAME} <<'{_END}'"
    return "\n".join([*lines[:-start], write, text, _END, "", *lines[-start:]]) + "\n"
