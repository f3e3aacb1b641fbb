"""Result of a search: the best layouts, why other families lose, and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.i18n import N_, _
from clusterwright.plan.memory.peak import MemoryFit, classify_fit
from clusterwright.plan.run import Offload, Recompute

if TYPE_CHECKING:
    from clusterwright.plan.prediction import Memory, Time
    from clusterwright.plan.run import Layout, Machine, Run, Stack, Training


class LayoutFamily(StrEnum):
    """Kind of parallelism of a layout: the first family in this order that applies."""

    OFFLOAD = N_("offload")  # optimizer states or weights in host memory
    EXPERT = N_("expert")  # expert parallelism
    CONTEXT = N_("context")  # context parallelism
    TENSOR_PIPELINE = "3D"  # tensor and pipeline, with or without data parallelism
    TENSOR = N_("tensor")
    PIPELINE = N_("pipeline")
    SHARDED = "ZeRO/FSDP"  # data parallelism with sharded states
    REPLICATED = N_("data parallel")  # all states on every GPU


@dataclass(frozen=True, slots=True)
class Plan:
    """One layout with its predicted time and memory, in plain numbers."""

    run: Run
    family: LayoutFamily
    time: Time
    memory: Memory

    @property
    def memory_fit(self) -> MemoryFit:
        """Whether the layout fits into GPU memory: fits, tight (within the prediction's error) or oom."""
        return classify_fit(self.memory, self.run.machine.gpu)

    @property
    def tokens_per_s_per_gpu(self) -> float:
        """Predicted throughput per GPU in tokens/s."""
        work = self.run.training
        return work.global_batch * work.seq_len / float(self.time.total) / self.run.machine.gpus

    @property
    def utilization(self) -> float:
        """Model FLOPs over peak FLOPs (MFU)."""
        return float(self.time.ideal) / float(self.time.total)


@dataclass(frozen=True, slots=True)
class Loss:
    """A family that is not the best, with the reason in one sentence."""

    family: LayoutFamily
    plan: Plan  # its fastest that fits, else the one with least memory
    fits_memory: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of layouts by result: considered = too_large + bounded + evaluated."""

    considered: int = 0  # layouts that divide the model, the batch and the sequence
    too_large: int = 0  # do not fit in memory
    bounded: int = 0  # fit, but their lower bound of time excludes them
    evaluated: int = 0  # fit, and predicted with the full model
    decided: int = 0  # plans in Calculon's counting: see `decided` of space
    indivisible: dict[str, int] = field(default_factory=dict)  # meshes, by what they do not divide


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The result of a search. If no layout fits, `best` is None and `remedies` list changes that would help."""

    training: Training
    machine: Machine
    stack: Stack
    counts: Counts
    best: Plan | None = None
    ranked: tuple[Plan, ...] = ()  # the fastest layouts that fit
    runner_up_why: str = ""
    meshes: tuple[Plan, ...] = ()  # fastest layout of each mesh (dp, tp, pp, cp, ep, etp) that fits
    families: tuple[Loss, ...] = ()
    pareto: tuple[Plan, ...] = ()  # Pareto front of time and memory, by time
    nearest: Plan | None = None  # if nothing fits: the layout with least memory
    remedies: tuple[str, ...] = ()

    @property
    def roomy(self) -> Plan | None:
        """The fastest layout whose memory is not tight: it fits despite the prediction's error; None without one."""
        return next((plan for plan in self.pareto if plan.memory_fit is MemoryFit.FITS), None)

    @property
    def runner_up(self) -> Plan | None:
        """The fastest layout with another mesh than the best; None without one."""
        return self.meshes[1] if len(self.meshes) > 1 else None


_GIB = 2**30
_RECOMPUTE = {Recompute.SELECTIVE: N_("selective recompute"), Recompute.FULL: N_("full recompute")}
_OFFLOAD = {Offload.OPTIMIZER: N_("offload optimizer"), Offload.ALL: N_("offload all")}


def gib(size_bytes: float) -> str:
    """Format bytes as `12.3 GiB`."""
    return f"{size_bytes / _GIB:.1f} GiB"


def format_mesh(layout: Layout) -> str:
    """Format the parallel degrees above 1, and dp: `tp 8 pp 4 dp 16`."""
    sizes = (("tp", layout.tp), ("pp", layout.pp), ("cp", layout.cp), ("ep", layout.ep), ("etp", layout.etp))
    return " ".join([f"{name} {size}" for name, size in sizes if size > 1] + [f"dp {layout.dp}"])


def format_layout(layout: Layout) -> str:
    """Format a layout as `tp 8 pp 4 dp 16, ZeRO 1, microbatch 2, interleave 3, selective recompute`.

    Interleaving, recomputation, schedule, sequence parallelism and offload are left out where they have the default.
    """
    parts = [format_mesh(layout), format_zero(layout), _("microbatch {size}", size=layout.micro_batch)]
    parts += [_("interleave {chunks}", chunks=layout.interleave)] if layout.interleave > 1 else []
    parts += [_(_RECOMPUTE[Recompute(int(layout.recompute))])] if layout.recompute else []
    parts += [str(layout.schedule)] if layout.pp > 1 and layout.schedule != "1f1b" else []
    parts += [_("no sequence parallelism")] if layout.tp > 1 and not layout.sequence_parallel else []
    parts += [_(_OFFLOAD[Offload(int(layout.offload))])] if layout.offload else []
    return ", ".join(parts)


def format_zero(layout: Layout) -> str:
    """Format ZeRO stage and shard group: `ZeRO 3 in groups of 8`."""
    if layout.shard:
        return _("ZeRO {stage} in groups of {gpus}", stage=layout.zero, gpus=layout.shard)
    return f"ZeRO {layout.zero}"
