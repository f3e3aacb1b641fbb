"""An outcome as plain values, for JSON: seconds, bytes and counts."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from clusterwright.plan.search.fragment import section
from clusterwright.plan.speed import span

if TYPE_CHECKING:
    from clusterwright.plan.search.outcome import Outcome, Plan


def record(outcome: Outcome, seconds: float) -> dict[str, Any]:
    """The whole outcome; `seconds` is how long the search took."""
    work, on = outcome.training, outcome.machine
    return {
        "model": work.architecture.name,
        "seq_len": work.seq_len,
        "global_batch": work.global_batch,
        "precision": work.precision,
        "optimizer": work.optimizer,
        "machine": {
            "gpu": on.gpu.name, "gpus": on.gpus, "gpus_per_node": on.gpus_per_node,
            "nvlink_domain": on.nvlink_domain, "network": asdict(on.network), "memory_bytes": on.gpu.usable_bytes,
        },
        "stack": asdict(outcome.stack),
        "counts": asdict(outcome.counts) | {"seconds": seconds},
        "best": outcome.best and plan(outcome.best),
        "runner_up": outcome.runner_up and plan(outcome.runner_up) | {"why": outcome.runner_up_why},
        "roomy": outcome.roomy and plan(outcome.roomy),
        "ranked": [plan(one) for one in outcome.ranked],
        "meshes": [plan(one) for one in outcome.meshes],
        "families": [
            {"family": loss.family, "fits": loss.fits, "why": loss.why, "plan": plan(loss.plan)}
            for loss in outcome.families
        ],
        "pareto": [plan(one) for one in outcome.pareto],
        "nearest": outcome.nearest and plan(outcome.nearest),
        "remedies": list(outcome.remedies),
    }  # fmt: skip


def plan(one: Plan) -> dict[str, Any]:
    """One layout and what is predicted of it."""
    low, high = span(one.run, one.time)
    return {
        "family": one.family,
        "layout": asdict(one.run.layout),
        "parallel": section(one.run),
        "iter_time_s": float(one.time.total),
        "iter_time_p10_s": float(low),
        "iter_time_p90_s": float(high),
        "tokens_per_s_per_gpu": one.tokens_per_s_per_gpu,
        "mfu": one.utilization,
        "memory_bytes": float(one.memory.total),
        "fit": one.fit,
        "time_s": _parts(one.time),
        "memory_parts_bytes": _parts(one.memory),
    }


def _parts(of: Any) -> dict[str, float]:
    return {part.name: float(getattr(of, part.name)) for part in fields(of)}
