"""JSON records of search results, in seconds, bytes and counts, and the job file's `parallel:` section."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from clusterwright.plan.run import Offload, Recompute
from clusterwright.plan.speed import span

if TYPE_CHECKING:
    from clusterwright.plan.run import Run
    from clusterwright.plan.search.outcome import Plan, SearchOutcome


def record(outcome: SearchOutcome, seconds: float) -> dict[str, Any]:
    """Return the outcome of a search as a dict for JSON; `seconds` is the duration of the search."""
    work, on = outcome.training, outcome.machine
    return {
        "model": work.architecture.name,
        "seq_len": work.seq_len,
        "global_batch": work.global_batch,
        "precision": work.precision,
        "optimizer": work.optimizer,
        "machine": {
            "gpu": on.gpu.name,
            "gpus": on.gpus,
            "gpus_per_node": on.gpus_per_node,
            "nvlink_domain": on.nvlink_domain,
            "network": asdict(on.network),
            "memory_bytes": on.gpu.usable_bytes,
        },
        "stack": asdict(outcome.stack),
        "counts": asdict(outcome.counts) | {"seconds": seconds},
        "best": outcome.best and plan(outcome.best),
        "runner_up": outcome.runner_up and plan(outcome.runner_up) | {"reason": outcome.runner_up_why},
        "roomy": outcome.roomy and plan(outcome.roomy),
        "ranked": [plan(entry) for entry in outcome.ranked],
        "meshes": [plan(entry) for entry in outcome.meshes],
        "families": [
            {
                "family": loss.family,
                "fits_memory": loss.fits_memory,
                "reason": loss.reason,
                "plan": plan(loss.plan),
            }
            for loss in outcome.families
        ],
        "pareto": [plan(entry) for entry in outcome.pareto],
        "nearest": outcome.nearest and plan(outcome.nearest),
        "remedies": list(outcome.remedies),
    }


def plan(entry: Plan) -> dict[str, Any]:
    """Return the JSON record of one layout with its predictions."""
    low, high = span(entry.run, entry.time)
    return {
        "family": entry.family,
        "layout": asdict(entry.run.layout),
        "parallel": section(entry.run),
        "iter_time_s": float(entry.time.total),
        "iter_time_p10_s": float(low),
        "iter_time_p90_s": float(high),
        "tokens_per_s_per_gpu": entry.tokens_per_s_per_gpu,
        "mfu": entry.utilization,
        "memory_bytes": float(entry.memory.total),
        "memory_fit": entry.memory_fit,
        "time_s": _parts(entry.time),
        "memory_parts_bytes": _parts(entry.memory),
    }


def _parts(parts: Any) -> dict[str, float]:
    return {part.name: float(getattr(parts, part.name)) for part in fields(parts)}


SHARD = ("none", "optimizer", "gradients", "full")  # by ZeRO stage
_NEEDLESS = {
    "expert": 1,
    "expert_tensor": 1,
    "context": 1,
    "interleave": 1,
    "schedule": "1f1b",
    "offload": "none",
}


def section(run: Run) -> dict[str, object]:
    """Return the job file's `parallel:` section for a run, without default values."""
    layout = run.layout
    values: dict[str, object] = {
        "tensor": layout.tp,
        "pipeline": layout.pp,
        "context": layout.cp,
        "expert": layout.ep,
        "expert_tensor": layout.etp,
        "data": layout.dp,
        "shard": SHARD[int(layout.zero)],
        "shard_group": layout.shard or None,
        "micro_batch": layout.micro_batch,
        "interleave": layout.interleave,
        "schedule": str(layout.schedule),
        "recompute": Recompute(int(layout.recompute)).name.lower(),
        "sequence_parallel": bool(layout.tp > 1 and layout.sequence_parallel),
        "offload": Offload(int(layout.offload)).name.lower(),
    }
    return {
        name: value for name, value in values.items() if value is not None and _NEEDLESS.get(name) != value
    }


def fragment(run: Run) -> str:
    """Render the lines of job.yaml for a run: nodes, GPUs per node and `parallel:`."""
    on = run.machine
    nodes = next(n for n in range(-(-on.gpus // on.gpus_per_node), on.gpus + 1) if on.gpus % n == 0)
    work = run.training
    title = f"{work.architecture.name}, {on.gpus} x {on.gpu.name}"
    lines = [
        f"# {title}, global batch {work.global_batch}, sequence {work.seq_len}",
        f"nodes: {nodes}",
        f"gpus_per_node: {on.gpus // nodes}",
        "parallel:",
        *(f"  {name}: {_written(value)}" for name, value in section(run).items()),
    ]
    return "\n".join(lines) + "\n"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
