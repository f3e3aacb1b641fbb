"""Increasingly finer layouts of a model, for rows without a layout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.run import Layout, Run

SLOTS = frozenset({0, 2})  # of a pipeline beyond the layers: embedding and head may count as layers
MOE_SLOTS = frozenset({0, 1, 2, 3})  # and a multi-token-prediction layer
_MOST_TP = 8  # tensor parallelism stays within a node
_MOST_EP = 64  # of DeepSeek-V3 (2412.19437); wider ones are for inference
_SEQUENCE_PARALLEL_SINCE = 2023


def meshes(run: Run, inferred: set[str]) -> Iterator[Layout]:
    """Yield the run's layout, then, if `mesh` was inferred, layouts with more ep, more tp and more pipeline stages."""
    layout: Layout | None = run.layout
    while layout is not None:
        yield layout
        layout = _finer(run, layout) if "mesh" in inferred else None


def _finer(run: Run, layout: Layout) -> Layout | None:
    model = run.training.architecture
    group = layout.dp * layout.cp * layout.tp
    if (
        model.experts
        and 2 * layout.ep <= _MOST_EP
        and not (model.experts % (2 * layout.ep) or group % (2 * layout.ep))
    ):
        return replace(layout, ep=2 * layout.ep)
    if layout.dp % 2:
        return None
    most = min(_MOST_TP, run.machine.gpus_per_node)
    if not model.experts and 2 * layout.tp <= most and model.heads % (2 * layout.tp) == 0:
        modern = run.stack.year >= _SEQUENCE_PARALLEL_SINCE
        return replace(layout, dp=layout.dp // 2, tp=2 * layout.tp, sequence_parallel=int(modern))
    fits_slots = -model.layers % (2 * layout.pp) in (MOE_SLOTS if model.experts else SLOTS)
    if fits_slots and 2 * layout.pp <= model.layers and (group // 2) % layout.ep == 0:
        return replace(layout, dp=layout.dp // 2, pp=2 * layout.pp)
    return None
