"""Environment variables of the cluster, the parallel layout and the gradient settings for the ranks."""

from __future__ import annotations

import json

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.units import MiB

_PREFIX = "CLUSTERWRIGHT_GRADIENT_"


def job_variables(job: Job) -> dict[str, str]:
    """Return all environment variables of the parallel layout and the gradient settings."""
    return {**parallel(job), **gradients(job)}


def lab(cluster: Cluster) -> dict[str, str]:
    """Return the variables of trainings on a lab: threads of OpenMP sleep while they wait; empty on other clusters.

    The hosts of a lab share the CPUs of one machine, on which threads that spin take the CPU from those that they wait
    for.
    """
    return {"OMP_WAIT_POLICY": "passive"} if cluster.lab else {}


def object_storage(cluster: Cluster) -> dict[str, str]:
    """Return the variables with which boto3, the AWS tools and other S3 clients find the cluster's object storage.

    Empty if the cluster file has none.
    """
    storage = cluster.object_storage
    if storage is None:
        return {}
    region = {"AWS_DEFAULT_REGION": storage.region} if storage.region else {}
    return {"AWS_ENDPOINT_URL_S3": storage.endpoint, **region}


def parallel(job: Job) -> dict[str, str]:
    """Return CLUSTERWRIGHT_PARALLEL, the `parallel` section as JSON, and one variable for each size; empty without it.

    DP is set only if the number of replicas is fixed; in an elastic job it is the world size / GPUs per replica.
    """
    layout = job.parallel
    if layout is None:
        return {}
    fixed = job.elastic is None
    data = layout.data or (job.nodes * job.gpus_per_node // layout.replica if fixed else None)
    sizes = {
        "TP": layout.tensor, "PP": layout.pipeline, "CP": layout.context, "EP": layout.expert,
        "ETP": layout.expert_tensor,
        "DP": data, "MICRO_BATCH": layout.micro_batch,
    }  # fmt: skip
    document = json.dumps(layout.model_dump(mode="json") | {"data": data})
    size_variables = {f"CLUSTERWRIGHT_{name}": str(size) for name, size in sizes.items() if size is not None}
    return {"CLUSTERWRIGHT_PARALLEL": document, **size_variables}


def gradients(job: Job) -> dict[str, str]:
    """Return the variables of the gradient settings that differ from torch's defaults, and of `outer`."""
    settings, variables = job.gradients, {}
    if settings.bucket:
        variables[f"{_PREFIX}BUCKET_MIB"] = f"{settings.bucket / MiB:g}"
    if settings.compress != "none":
        variables[f"{_PREFIX}COMPRESS"] = settings.compress
    if settings.compress == "power":
        variables |= {f"{_PREFIX}RANK": str(settings.rank), f"{_PREFIX}WARM_UP": str(settings.warm_up)}
    if settings.hierarchical:
        variables[f"{_PREFIX}HIERARCHICAL"] = "1"
    if job.outer:
        variables["CLUSTERWRIGHT_OUTER"] = json.dumps(job.outer.model_dump(mode="json"))
    return variables
