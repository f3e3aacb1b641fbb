"""A layout, memory and time in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.run import Offload, Recompute

if TYPE_CHECKING:
    from clusterwright.plan.run import Layout

_GIB = 2**30


def gib(size_bytes: float) -> str:
    """`12.3 GiB`."""
    return f"{size_bytes / _GIB:.1f} GiB"


def mesh_words(cut: Layout) -> str:
    """`tp 8 pp 4 dp 16`: the sizes above one, and dp."""
    sizes = (("tp", cut.tp), ("pp", cut.pp), ("cp", cut.cp), ("ep", cut.ep), ("etp", cut.etp))
    return " ".join([f"{name} {size}" for name, size in sizes if size > 1] + [f"dp {cut.dp}"])


def layout_words(cut: Layout) -> str:
    """`tp 8 pp 4 dp 16, ZeRO 1, microbatch 2, interleave 3, selective recompute`."""
    words = [mesh_words(cut), zero_words(cut), f"microbatch {cut.micro_batch}"]
    words += [f"interleave {cut.interleave}"] if cut.interleave > 1 else []
    words += [f"{Recompute(int(cut.recompute)).name.lower()} recompute"] if cut.recompute else []
    words += [str(cut.schedule)] if cut.pp > 1 and cut.schedule != "1f1b" else []
    words += ["no sequence parallelism"] if cut.tp > 1 and not cut.sequence_parallel else []
    words += [f"offload {Offload(int(cut.offload)).name.lower()}"] if cut.offload else []
    return ", ".join(words)


def zero_words(cut: Layout) -> str:
    """`ZeRO 3 in groups of 8`."""
    return f"ZeRO {cut.zero}" + (f" in groups of {cut.shard}" if cut.shard else "")
