"""How the ranks are cut into groups: torch's DeviceMesh, with dimensions in torchtitan's order.

    pp (where it is used), dp_replicate, dp_shard, cp, tp

Ranks that are next to each other share a tensor group, as those of one host should.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

_GROUPS = ("tensor", "pipeline", "context")


def sizes(parallel: Mapping[str, Any], world_size: int) -> dict[str, int]:
    """The size of each dimension, from what a job file has under `parallel`.

    Without `data` there are as many replicas as the ranks make, which on fewer hosts are fewer.

    Raises:
        ValueError: the groups do not multiply to the world size; both sides are said.
    """
    tensor, pipeline, context = (int(parallel.get(name, 1)) for name in _GROUPS)
    replica = tensor * pipeline * context
    product = f"tensor {tensor} x pipeline {pipeline} x context {context}"
    if world_size % replica:
        raise ValueError(f"{product} takes {replica} ranks a replica, and {world_size} are no multiple of it")
    data = int(parallel.get("data") or world_size // replica)
    if data * replica != world_size:
        raise ValueError(f"{product} x data {data} is {data * replica}, and there are {world_size} ranks")
    shard = 1 if parallel.get("shard", "none") == "none" else int(parallel.get("shard_group") or data)
    if data % shard:
        raise ValueError(
            f"shard_group {shard} does not divide data {data}, of {world_size} ranks by {product}"
        )
    found = {"dp_replicate": data // shard, "dp_shard": shard, "cp": context, "tp": tensor}
    return {"pp": pipeline, **found} if pipeline > 1 else found


def make(device: str, dimensions: Mapping[str, int]) -> DeviceMesh:
    """The mesh; all ranks make it at the same time."""
    return init_device_mesh(device, tuple(dimensions.values()), mesh_dim_names=tuple(dimensions))
