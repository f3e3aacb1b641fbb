"""Why a layout is not the best: the part of its time that grew, or the memory that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.search.words import gib

if TYPE_CHECKING:
    from clusterwright.plan.search.outcome import Plan

PARTS = {
    "ideal": "the products themselves",
    "inefficiency": "matrix products below the peak",
    "recompute": "recomputation",
    "memory_bound": "operations bound by memory bandwidth",
    "tensor_parallel": "tensor-parallel communication",
    "context_parallel": "context-parallel communication",
    "expert_parallel": "expert-parallel communication",
    "pipeline_bubble": "pipeline bubbles",
    "pipeline_comm": "pipeline communication",
    "data_parallel": "data-parallel communication",
    "optimizer": "the optimiser's step",
    "input": "reading the input",
    "jitter": "stragglers",
}
HOLDS = {
    "weights": "weights",
    "gradients": "gradients",
    "optimizer": "optimiser states",
    "activations": "activations",
    "transients": "logits, gathered parameters and buffers",
    "fragmentation": "fragmentation",
    "context": "CUDA context and NCCL buffers",
}


def loses(plan: Plan, best: Plan) -> str:
    """`8% slower: pipeline bubbles take 1.21 s more (0.30 s in the best)`."""
    total, least = float(plan.time.total), float(best.time.total)
    grown = {name: float(getattr(plan.time, name)) - float(getattr(best.time, name)) for name in PARTS}
    name = max(grown, key=lambda part: grown[part])
    if grown[name] <= 0 or total <= least:
        return "as fast; it comes after the best by its order alone"
    had = float(getattr(best.time, name))
    return (
        f"{100 * (total / least - 1):.1f}% slower: {PARTS[name]} {_verb(name)} {had + grown[name]:.3g} s of"
        f" {total:.3g} s, in the best {had:.3g} s of {least:.3g} s"
    )


def _verb(part: str) -> str:
    return "take" if PARTS[part].endswith("s") and part != "optimizer" else "takes"


def too_large(plan: Plan) -> str:
    """`does not fit: 120.3 GiB at the least, 45.8 GiB more than a GPU has; optimiser states hold 80.1 GiB`."""
    total, have = float(plan.memory.total), plan.run.machine.gpu.usable_bytes
    largest = max(HOLDS, key=lambda name: float(getattr(plan.memory, name)))
    return (
        f"does not fit: {gib(total)} at the least, {gib(total - have)} more than a GPU has;"
        f" {HOLDS[largest]} hold {gib(float(getattr(plan.memory, largest)))}"
    )
