"""A layout as the `parallel:` section of a job file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.run import Offload, Recompute

if TYPE_CHECKING:
    from clusterwright.plan.run import Run

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
    """The values under `parallel:`, without those that only say that nothing is done."""
    cut = run.layout
    values: dict[str, object] = {
        "tensor": cut.tp,
        "pipeline": cut.pp,
        "context": cut.cp,
        "expert": cut.ep,
        "expert_tensor": cut.etp,
        "data": cut.dp,
        "shard": SHARD[int(cut.zero)],
        "shard_group": cut.shard or None,
        "micro_batch": cut.micro_batch,
        "interleave": cut.interleave,
        "schedule": str(cut.schedule),
        "recompute": Recompute(int(cut.recompute)).name.lower(),
        "sequence_parallel": bool(cut.tp > 1 and cut.sequence_parallel),
        "offload": Offload(int(cut.offload)).name.lower(),
    }
    return {
        name: value for name, value in values.items() if value is not None and _NEEDLESS.get(name) != value
    }


def fragment(run: Run) -> str:
    """Lines for job.yaml: hosts, GPUs of a host, and how the model is cut."""
    on = run.machine
    nodes = next(n for n in range(-(-on.gpus // on.gpus_per_node), on.gpus + 1) if on.gpus % n == 0)
    work = run.training
    what = f"{work.architecture.name}, {on.gpus} x {on.gpu.name}"
    lines = [
        f"# {what}, global batch {work.global_batch}, sequence {work.seq_len}",
        f"nodes: {nodes}",
        f"gpus_per_node: {on.gpus // nodes}",
        "parallel:",
        *(f"  {name}: {_written(value)}" for name, value in section(run).items()),
    ]
    return "\n".join(lines) + "\n"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
