"""Layouts as arrays. A block has five axes, so that a formula that depends on few of them is computed on few.

Axes: row (mesh and microbatch), recompute x sequence parallel, ZeRO x shard group, interleave x schedule's own,
offload. numpy broadcasts; what depends on the row alone is computed once a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clusterwright.plan.run import Layout, Offload, Schedule
from clusterwright.plan.search.meshes import Mesh, interleaves, micro_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

FIELDS = ("tp", "pp", "cp", "ep", "etp", "dp", "micro_batch")  # of a row, as Mesh has them
CHOICES = ("recompute", "sequence_parallel", "zero", "shard", "interleave", "offload")
"""Fields that vary inside a row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Meshes with a microbatch that have the same pipeline length, one row each."""

    columns: dict[str, Array]  # FIELDS, and `mesh`: index into the list of meshes
    interleave: Array

    def __len__(self) -> int:
        return len(self.columns["mesh"])

    def take(self, which: Array | slice) -> Rows:
        """Some of the rows."""
        return Rows({name: column[which] for name, column in self.columns.items()}, self.interleave)


@dataclass(frozen=True, slots=True)
class Block:
    """Rows with all their choices: a layout of broadcasting arrays, and which of its cells are layouts."""

    rows: Rows
    layout: Layout
    valid: Array  # the full shape

    def columns(self, at: tuple[Array, ...]) -> dict[str, Array]:
        """FIELDS, CHOICES and the mesh of the layouts at an index of five arrays."""
        columns = {name: column[at[0]] for name, column in self.rows.columns.items()}
        for name in CHOICES:
            columns[name] = np.broadcast_to(getattr(self.layout, name), self.valid.shape)[at]
        return columns


def rows_of(found: Sequence[Mesh], training: Training, options: Options) -> list[Rows]:
    """All rows, grouped by pipeline length, which decides the interleaving."""
    grouped: dict[int, list[tuple[int, ...]]] = {}
    for index, mesh in enumerate(found):
        sizes = micro_batches(training, mesh.dp, options)
        grouped.setdefault(mesh.pp, []).extend((*mesh, size, index) for size in sizes)
    return [
        Rows(
            {
                name: np.array(column, float)
                for name, column in zip((*FIELDS, "mesh"), zip(*rows, strict=True), strict=True)
            },
            np.array(interleaves(training.architecture, pp, options), float),
        )
        for pp, rows in sorted(grouped.items())
        if rows and interleaves(training.architecture, pp, options)
    ]


def block_of(rows: Rows, training: Training, machine: Machine, options: Options, schedule: Schedule) -> Block:
    """All choices of the rows under one schedule."""
    row = {name: column[:, None, None, None, None] for name, column in rows.columns.items()}
    recompute, sequence = _pairs([int(r) for r in options.recompute], [1, 0], axis=1)
    shards = [0, 1] if options.node_shards else [0]
    zero, inside = _pairs(options.zero, shards, axis=2, keep=lambda stage, node: stage > 0 or not node)
    chunks = rows.interleave if schedule is Schedule.ONE_F_ONE_B else rows.interleave[rows.interleave == 1]
    interleave = chunks[None, None, None, :, None]
    offload = np.array([float(o) for o in options.offload])[None, None, None, None, :]
    node = np.maximum(machine.gpus_per_node // np.minimum(row["tp"], machine.gpus_per_node), 1)
    shard = np.where(inside > 0, node, 0.0)
    sizes: dict[str, Any] = {name: row[name] for name in FIELDS}
    layout = Layout(
        **sizes,
        recompute=recompute, sequence_parallel=sequence, zero=zero, shard=shard,
        interleave=interleave, offload=offload, schedule=schedule,
    )  # fmt: skip
    shape = np.broadcast_shapes(*(np.shape(getattr(layout, name)) for name in (*FIELDS, *CHOICES)))
    good = _sequence_ok(row, sequence, training) & _zero_ok(row, zero, inside, node)
    good = good & _offload_ok(row, zero, offload)
    good = good & _schedule_ok(row, interleave, training, schedule)
    return Block(rows, layout, np.broadcast_to(good, shape))


def _pairs(
    first: Sequence[int], second: Sequence[int], *, axis: int, keep: Callable[[int, int], bool] | None = None
) -> tuple[Array, Array]:
    """All pairs of two choices along one axis."""
    pairs = [(a, b) for a in first for b in second if keep is None or keep(a, b)]
    shape = [1] * 5
    shape[axis] = len(pairs)
    columns = np.array(pairs, float).reshape(-1, 2)
    return columns[:, 0].reshape(shape), columns[:, 1].reshape(shape)


def _sequence_ok(row: dict[str, Array], sequence: Array, training: Training) -> Array:
    """Sequence parallelism divides the tokens by tp; without tp it is no choice; with experts under tp it is a must."""
    divides = training.seq_len % (row["tp"] * row["cp"]) == 0
    without: Array = np.where(row["tp"] > 1, row["ep"] == 1, 0)
    return np.where(sequence > 0, (row["tp"] == 1) | divides, without).astype(bool)


def _zero_ok(row: dict[str, Array], zero: Array, inside: Array, node: Array) -> Array:
    """One rank has nothing to shard, and is listed once; a node's shards are fewer than all of them, and divide them.

    ZeRO 2 goes without a pipeline: a stage keeps whole gradients until its last microbatch (DeepSpeed refuses the two).
    """
    ranks = row["dp"] * row["cp"]
    in_nodes = (node > 1) & (node < ranks) & (ranks % node == 0)
    shards: Array = np.where(inside > 0, in_nodes, (zero == zero.min()) | (zero == 0) | (ranks > 1))
    allowed: Array = shards & ((zero != 2) | (row["pp"] == 1))
    return allowed


def _offload_ok(row: dict[str, Array], zero: Array, offload: Array) -> Array:
    """Weights go to host memory in shards alone (DeepSpeed's ZeRO 3), or where there is nobody to share with."""
    alone = row["dp"] * row["cp"] == 1
    return np.where(offload == Offload.ALL, (zero == 3) | alone, 1).astype(bool)


def _schedule_ok(row: dict[str, Array], interleave: Array, training: Training, schedule: Schedule) -> Array:
    """Interleaving passes microbatches on in rounds of pp (Megatron-LM's rule); another schedule needs a pipeline."""
    count = training.global_batch / row["dp"] / row["micro_batch"]
    rounds: Array = (interleave == 1) | (count % row["pp"] == 0)
    return rounds & ((row["pp"] > 1) | (schedule is Schedule.ONE_F_ONE_B))


def decided(block: Block) -> int:
    """Plans that the block's layouts stand for, in Calculon's counting.

    Decided without being listed: tp and dp communication overlap where they can (never slower); with sequence
    parallelism tensors travel as reduce-scatter and all-gather, gathered again in the backward pass; tp lies
    innermost, and each group uses the fastest links that join it.
    """
    cut = block.layout
    tensor = np.asarray(cut.tp) > 1
    kinds = np.where(np.asarray(cut.sequence_parallel) > 0, np.where(np.asarray(cut.recompute) == 2, 2, 3), 1)
    links = 2.0 ** (tensor + (np.asarray(cut.pp) > 1) * 1 + (np.asarray(cut.dp) > 1))
    each = np.where(tensor, 3 * kinds, 1) * np.where(np.asarray(cut.dp) > 1, 2, 1) * links
    return int((block.valid * each).sum())
