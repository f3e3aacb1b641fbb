"""Comparison of GPUs for a scenario: training, science or inference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.catalog.prices import common_currency, price
from clusterwright.catalog.records import Deal, Price
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.plan.cost.figures import priced
from clusterwright.plan.cost.inputs import node_kw, server_of
from clusterwright.plan.parameters import count
from clusterwright.plan.sizing.fewest import fewest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterwright.catalog.gpus import Fp64
    from clusterwright.catalog.records import Architecture, Gpu
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.cost.figures import Estimate
    from clusterwright.plan.sizing.fewest import Assumptions, Sized
    from clusterwright.plan.sizing.workload import Workload


class Scenario(StrEnum):
    """Purpose of the hardware."""

    TRAINING = "training"
    SCIENCE = "science"
    INFERENCE = "inference"


# Boards with NVLink or xGMI for training; high double-precision rates for science; cards that fit in any server
# for inference. Field guides name A100 and H100; Tesla and Instinct; L4 and T4.
USUAL = {
    Scenario.TRAINING: ("a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "mi300x"),
    Scenario.SCIENCE: ("v100-sxm2-32gb", "a100-sxm-80gb", "h100-sxm-80gb", "mi250x", "mi300x"),
    Scenario.INFERENCE: ("t4", "l4", "l40s", "a100-sxm-80gb", "h100-sxm-80gb"),
}


@dataclass(frozen=True, slots=True)
class Money:
    """Cost and power of a choice; None where no price is known."""

    server: str
    servers: int
    bought: Estimate | None  # the servers only
    rented: Estimate | None  # on demand: this workload; for inference and science, one hour of the GPUs
    kw: float  # of the servers under load
    prices: tuple[Price, ...] = ()  # that the amounts derive from


@dataclass(frozen=True, slots=True)
class Choice:
    """One GPU model compared for a scenario; fields of other scenarios are None."""

    gpu: Gpu
    sized: Sized | None = None
    serving: Serving | None = None
    roof: Roof | None = None
    money: Money | None = None
    why_not: str = ""


def for_training(
    workload: Workload,
    deadline_s: float,
    gpus: Iterable[Gpu],
    assumptions: Assumptions,
    user_catalog: UserCatalog | None = None,
) -> tuple[Choice, ...]:
    """Return, for each GPU model, the fewest that meet the deadline with their cost, or the reason why none do."""
    return tuple(_trained(workload, deadline_s, gpu, assumptions, user_catalog) for gpu in gpus)


def _trained(
    workload: Workload,
    deadline_s: float,
    gpu: Gpu,
    assumptions: Assumptions,
    user_catalog: UserCatalog | None,
) -> Choice:
    try:
        result = fewest(workload, gpu, deadline_s, assumptions)
    except WrightError as error:
        return Choice(gpu, why_not="; ".join(finding.message for finding in error.findings))
    gpus = result.nodes * result.machine.gpus_per_node
    return Choice(gpu, result, money=money(gpu, gpus, result.gpu_hours, user_catalog))


def for_inference(
    model: Architecture, gpus: Iterable[Gpu], context: int, user_catalog: UserCatalog | None = None
) -> tuple[Choice, ...]:
    """Return, for each GPU model, the upper bound of tokens/s, or a reason if the model does not fit."""
    return tuple(_served(gpu, serving(model, gpu, context), user_catalog) for gpu in gpus)


def _served(gpu: Gpu, result: Serving, user_catalog: UserCatalog | None) -> Choice:
    if not result.gpus:
        return Choice(gpu, why_not=_("the model does not fit on 8 of these GPUs"))
    return Choice(gpu, serving=result, money=money(gpu, result.gpus, result.gpus, user_catalog))


def for_science(
    gpus: Iterable[Gpu], rates: Mapping[str, Fp64], user_catalog: UserCatalog | None = None
) -> tuple[Choice, ...]:
    """Return double-precision rates and bandwidth of each GPU model, or a reason if they are unknown."""
    return tuple(
        Choice(gpu, roof=roof(gpu, rates[gpu.name]), money=money(gpu, 1, 1, user_catalog))
        if gpu.name in rates
        else Choice(gpu, why_not=_("the double-precision rate is not in the catalog"))
        for gpu in gpus
    )


def money(gpu: Gpu, gpus: int, gpu_hours: float, user_catalog: UserCatalog | None = None) -> Money | None:
    """Compute the cost of buying `gpus` GPUs in whole servers and of renting `gpu_hours`; None without a server.

    `bought` or `rented` is None if the catalog has no price of it.
    """
    server = server_of(gpu, user_catalog)
    if server is None:
        return None
    number = math.ceil(gpus / server.gpus)
    bought, hour = price(server.name, Deal.OWNED, user_catalog), price(gpu.name, Deal.ON_DEMAND, user_catalog)
    return Money(
        server=server.name,
        servers=number,
        bought=priced(bought).times(number, bought.currency) if bought else None,
        rented=priced(hour).times(gpu_hours, hour.currency) if hour else None,
        kw=number * node_kw(gpu, server).likely,
        prices=tuple(entry for entry in (bought, hour) if entry),
    )


def currency(choices: Iterable[Choice]) -> str:
    """Return the currency of all prices in a comparison.

    Raises:
        WrightError: currency-mixed, with both locations.
    """
    return common_currency(entry for choice in choices if choice.money for entry in choice.money.prices)


# The performance of a code is bounded by the double-precision peak and by the bandwidth (Williams et al.,
# roofline, doi 10.1145/1498765.1498785); without its FLOPs per byte both bounds are shown.


@dataclass(frozen=True, slots=True)
class Roof:
    """Roofline of one GPU in double precision: vector and matrix FLOP/s, and bytes/s."""

    vector: float
    matrix: float
    bytes_per_s: float

    @property
    def ridge(self) -> float:
        """FLOPs per byte above which arithmetic is the limit, and below which memory is."""
        return self.vector / self.bytes_per_s


def roof(gpu: Gpu, rate: Fp64) -> Roof:
    """Return the double-precision roofline of one GPU: vector and matrix FLOP/s, and memory bytes/s."""
    return Roof(rate.vector, rate.matrix, gpu.memory_bytes_per_s)


# Each token of a decoder reads all weights that it uses and the KV cache of its sequence once, so bytes over
# bandwidth is the least time (Pope et al. 2211.05102, 2). These are upper bounds: kernels reach less.


USABLE = 0.9  # of GPU memory for weights and KV cache; vLLM's default, gpu_memory_utilization


@dataclass(frozen=True, slots=True)
class Serving:
    """Upper bounds of inference with one model replica on the fewest GPUs of a node."""

    gpus: int  # 0: the model does not fit into a node
    weights_bytes: float
    sequences: int  # that fit into memory at the same time
    tokens_per_s_single: float  # upper bound for one sequence
    tokens_per_s_all: float  # upper bound for all sequences together


def serving(model: Architecture, gpu: Gpu, context: int, weight_bytes: float = 2, node: int = 8) -> Serving:
    """Compute upper bounds for sequences of `context` tokens on the fewest GPUs that hold weights and one KV cache.

    `weight_bytes` per parameter: bf16 2, fp8 or int8 1. 90% of the memory is usable. 0 GPUs if a node of `node`
    GPUs is too small.
    """
    weights = count(model).total * weight_bytes
    cache = cache_bytes(model, context)
    gpu_bytes = gpu.usable_bytes * USABLE
    gpus = next((n for n in (1, 2, 4, 8, 16) if n <= node and n * gpu_bytes >= weights + cache), 0)
    if not gpus:
        return Serving(0, weights, 0, 0.0, 0.0)
    sequences = math.floor((gpus * gpu_bytes - weights) / cache)
    read = used_weights(model) * weight_bytes
    bandwidth = gpus * gpu.memory_bytes_per_s
    batch_rate = bandwidth * sequences / (weights + sequences * cache)
    compute = gpus * gpu.peak.get("bf16", gpu.peak.get("fp16", 0.0)) / (2 * used_weights(model))
    return Serving(
        gpus, weights, sequences, bandwidth / (read + cache), min(batch_rate, compute or batch_rate)
    )


def cache_bytes(model: Architecture, context: int) -> float:
    """Return the bytes of the KV cache of one sequence, 2 per element.

    Latent attention (MLA) stores its compressed form.
    """
    if model.attention == "mla":
        width: float = model.kv_lora_rank + model.rope_head_dim
    else:
        width = 2 * model.kv_heads * model.head_dim
    return 2.0 * model.layers * width * context


def used_weights(model: Architecture) -> float:
    """Return the number of parameters that one token uses."""
    parameters = count(model)
    unused = model.experts - model.experts_per_token
    return parameters.total - parameters.moe_layers * parameters.expert * unused
