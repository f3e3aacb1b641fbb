"""What a search says: the best layouts, what each other family lacks, and how many were looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.plan.memory.peak import MemoryFit, classify_fit
from clusterwright.plan.run import Offload, Recompute

if TYPE_CHECKING:
    from clusterwright.plan.prediction import Memory, Time
    from clusterwright.plan.run import Layout, Machine, Run, Stack, Training


class Family(StrEnum):
    """What a layout leans on; each layout is of one family, the first in this order that fits it."""

    OFFLOAD = "offload"  # optimiser states or weights in host memory
    EXPERT = "expert"  # experts spread over GPUs
    CONTEXT = "context"  # the sequence spread over GPUs
    TENSOR_PIPELINE = "3D"  # tensor and pipeline, with or without data parallelism
    TENSOR = "tensor"
    PIPELINE = "pipeline"
    SHARDED = "ZeRO/FSDP"  # data parallelism that cuts the states
    REPLICATED = "data parallel"  # every GPU holds everything


@dataclass(frozen=True, slots=True)
class Plan:
    """One layout with what is predicted of it; plain numbers."""

    run: Run
    family: Family
    time: Time
    memory: Memory

    @property
    def fit(self) -> MemoryFit:
        """Whether it fits, and whether tightly."""
        return classify_fit(self.memory, self.run.machine.gpu)

    @property
    def tokens_per_s_per_gpu(self) -> float:
        """Throughput of one GPU."""
        work = self.run.training
        return work.global_batch * work.seq_len / float(self.time.total) / self.run.machine.gpus

    @property
    def utilization(self) -> float:
        """Model FLOPs over peak FLOPs (MFU)."""
        return float(self.time.ideal) / float(self.time.total)


@dataclass(frozen=True, slots=True)
class Loss:
    """A family that is not the best, and the one sentence on why."""

    family: Family
    plan: Plan  # its fastest that fits; the one nearest to fitting where none does
    fits: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How many layouts, by what became of them: considered = too_large + bounded + evaluated."""

    considered: int = 0  # layouts that divide the model, the batch and the sequence
    too_large: int = 0  # do not fit in memory
    bounded: int = 0  # fit, and no time they could take would matter
    evaluated: int = 0  # fit, and were predicted in full
    decided: int = 0  # plans, counting what is decided without being listed: see `decided` of space
    indivisible: dict[str, int] = field(default_factory=dict)  # meshes, by what they fail to divide


@dataclass(frozen=True, slots=True)
class Outcome:
    """The whole answer. Without a layout that fits, `best` is None, and `remedies` say what would help."""

    training: Training
    machine: Machine
    stack: Stack
    counts: Counts
    best: Plan | None = None
    ranked: tuple[Plan, ...] = ()  # the fastest layouts that fit
    runner_up_why: str = ""
    meshes: tuple[Plan, ...] = ()  # the fastest of each mesh (dp, tp, pp, cp, ep, etp), those that fit
    families: tuple[Loss, ...] = ()
    pareto: tuple[Plan, ...] = ()  # nothing else is as fast in as little memory; by time
    nearest: Plan | None = None  # where nothing fits: the layout that takes least memory
    remedies: tuple[str, ...] = ()

    @property
    def roomy(self) -> Plan | None:
        """The fastest whose memory is not tight: predictions may be off by what is left."""
        return next((plan for plan in self.pareto if plan.fit is MemoryFit.FITS), None)

    @property
    def runner_up(self) -> Plan | None:
        """The fastest that cuts the model otherwise than the best."""
        return self.meshes[1] if len(self.meshes) > 1 else None


_GIB = 2**30


def gib(size_bytes: float) -> str:
    """`12.3 GiB`."""
    return f"{size_bytes / _GIB:.1f} GiB"


def format_mesh(layout: Layout) -> str:
    """`tp 8 pp 4 dp 16`: the sizes above one, and dp."""
    sizes = (("tp", layout.tp), ("pp", layout.pp), ("cp", layout.cp), ("ep", layout.ep), ("etp", layout.etp))
    return " ".join([f"{name} {size}" for name, size in sizes if size > 1] + [f"dp {layout.dp}"])


def format_layout(layout: Layout) -> str:
    """`tp 8 pp 4 dp 16, ZeRO 1, microbatch 2, interleave 3, selective recompute`."""
    parts = [format_mesh(layout), format_zero(layout), f"microbatch {layout.micro_batch}"]
    parts += [f"interleave {layout.interleave}"] if layout.interleave > 1 else []
    parts += [f"{Recompute(int(layout.recompute)).name.lower()} recompute"] if layout.recompute else []
    parts += [str(layout.schedule)] if layout.pp > 1 and layout.schedule != "1f1b" else []
    parts += ["no sequence parallelism"] if layout.tp > 1 and not layout.sequence_parallel else []
    parts += [f"offload {Offload(int(layout.offload)).name.lower()}"] if layout.offload else []
    return ", ".join(parts)


def format_zero(layout: Layout) -> str:
    """`ZeRO 3 in groups of 8`."""
    return f"ZeRO {layout.zero}" + (f" in groups of {layout.shard}" if layout.shard else "")
