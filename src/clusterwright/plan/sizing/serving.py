"""Inference: whether a model fits on a GPU, and how many tokens a second memory bandwidth allows.

Each token of a decoder reads all weights that it uses and the cache of its sequence once, so bytes over
bandwidth is the least time (Pope et al. 2211.05102, 2). These are upper bounds: kernels reach less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.parameters import count

if TYPE_CHECKING:
    from clusterwright.catalog.gpu import Gpu
    from clusterwright.catalog.model import Architecture

USABLE = 0.9  # of the GPU's memory for weights and cache; vLLM's own default, gpu_memory_utilization


@dataclass(frozen=True, slots=True)
class Serving:
    """One copy of a model on as few GPUs of a node as hold it."""

    gpus: int  # 0: it does not fit into a node
    weights_bytes: float
    sequences: int  # that fit into memory at the same time
    tokens_per_s_one: float  # at most, for one sequence
    tokens_per_s_all: float  # at most, for all of them together


def serving(model: Architecture, gpu: Gpu, context: int, weight_bytes: float = 2, node: int = 8) -> Serving:
    """Upper bounds for sequences of `context` tokens; `weight_bytes` of one parameter: 2 bf16, 1 fp8 or int8."""
    weights = count(model).total * weight_bytes
    cache = cache_bytes(model, context)
    room = gpu.usable_bytes * USABLE
    gpus = next((n for n in (1, 2, 4, 8, 16) if n <= node and n * room >= weights + cache), 0)
    if not gpus:
        return Serving(0, weights, 0, 0.0, 0.0)
    sequences = math.floor((gpus * room - weights) / cache)
    read = used_weights(model) * weight_bytes
    bandwidth = gpus * gpu.memory_bytes_per_s
    together = bandwidth * sequences / (weights + sequences * cache)
    compute = gpus * gpu.peak.get("bf16", gpu.peak.get("fp16", 0.0)) / (2 * used_weights(model))
    return Serving(gpus, weights, sequences, bandwidth / (read + cache), min(together, compute or together))


def cache_bytes(model: Architecture, context: int) -> float:
    """Keys and values of one sequence, two bytes each; latent attention keeps its compressed form."""
    if model.attention == "mla":
        width: float = model.kv_lora_rank + model.rope_head_dim
    else:
        width = 2 * model.kv_heads * model.head_dim
    return 2.0 * model.layers * width * context


def used_weights(model: Architecture) -> float:
    """Parameters that one token passes through."""
    parameters = count(model)
    unused = model.experts - model.experts_per_token
    return parameters.total - parameters.moe_layers * parameters.expert * unused
