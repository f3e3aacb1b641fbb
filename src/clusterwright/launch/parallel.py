"""What the ranks are told of how the model is cut."""

from __future__ import annotations

import json

from clusterwright.config.job import Job


def variables(job: Job) -> dict[str, str]:
    """CLUSTERWRIGHT_PARALLEL, the whole section as JSON, and its sizes one by one; nothing without the section.

    Replicas are told only where their number is fixed: an elastic job has the world size over a replica's GPUs.
    """
    cut = job.parallel
    if cut is None:
        return {}
    fixed = job.elastic is None
    data = cut.data or (job.nodes * job.gpus_per_node // cut.replica if fixed else None)
    sizes = {
        "TP": cut.tensor, "PP": cut.pipeline, "CP": cut.context, "EP": cut.expert, "ETP": cut.expert_tensor,
        "DP": data, "MICRO_BATCH": cut.micro_batch,
    }  # fmt: skip
    whole = json.dumps(cut.model_dump(mode="json") | {"data": data})
    plain = {f"CLUSTERWRIGHT_{name}": str(size) for name, size in sizes.items() if size is not None}
    return {"CLUSTERWRIGHT_PARALLEL": whole, **plain}
