"""Style sheet and labels of the planner's pages."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.drawing import sheet as drawing
from clusterwright.drawing.sheet import Figure, Section, Theme
from clusterwright.i18n import N_, bilingual

_STYLE = """
.ideal-line { fill: none; stroke: var(--soft); stroke-width: 1.4; stroke-dasharray: 5 5; }
.range { fill: var(--train); opacity: .14; }
.band { fill: var(--red); opacity: .08; }
.fault-line { stroke: var(--red); stroke-width: 1.6; } .fault-text { fill: var(--red); font-weight: 700; }
.new-line { stroke: var(--green); stroke-width: 1.6; } .new-text { fill: var(--green); font-weight: 700; }
.progress { fill: none; stroke: var(--train); stroke-width: 2.4; stroke-linejoin: round; }
.rented-line { fill: none; stroke: var(--start); stroke-width: 2.4; }
.checkpoint { fill: var(--card); stroke: var(--train); stroke-width: 1.6; }
.training { fill: var(--train); }
.dot-of { fill: var(--train); opacity: .55; }
.dot-of.f0 { fill: var(--p5); } .dot-of.f1 { fill: var(--p2); } .dot-of.f2 { fill: var(--p4); }
.dot-of.f3 { fill: var(--p0); } .dot-of.f4 { fill: var(--p6); } .dot-of.f5 { fill: var(--p3); }
.best-ring { fill: none; stroke: var(--green); stroke-width: 2.4; }
.place, .host-name { font-weight: 600; } .said { font-size: 12px; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 7px; }
"""


def sheet(
    headline: tuple[str, str], figures: Sequence[Figure], sections: Sequence[Section], *, footer: str = ""
) -> str:
    """Return a planner page as HTML; every text is escaped except the sections' bodies, which are HTML."""
    return drawing.sheet(Theme(bilingual("Plan"), _STYLE), headline, figures, sections, footer=footer)


MEMORY = {  # field of Memory -> label
    "weights": N_("weights"),
    "gradients": N_("gradients"),
    "optimizer": N_("optimizer states"),
    "activations": N_("activations"),
    "transients": N_("temporary buffers"),
    "fragmentation": N_("fragmentation"),
    "context": N_("CUDA and NCCL"),
}
TIME = {  # field of Time -> label
    "ideal": N_("ideal: model FLOPs at peak"),
    "inefficiency": N_("matrix products below peak"),
    "recompute": N_("recomputation"),
    "memory_bound": N_("memory-bound operations: norms, casts"),
    "tensor_parallel": N_("tensor-parallel communication"),
    "context_parallel": N_("context-parallel communication"),
    "expert_parallel": N_("expert-parallel communication"),
    "pipeline_bubble": N_("pipeline bubble"),
    "pipeline_comm": N_("pipeline communication"),
    "data_parallel": N_("data-parallel communication"),
    "optimizer": N_("optimizer step"),
    "input": N_("input, logging, synchronization"),
    "jitter": N_("waiting for the slowest GPU"),
}
