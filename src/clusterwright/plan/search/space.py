"""Layouts as numpy arrays. A block has four axes, so that a formula that depends on few of them is computed on few.

Axes: row (mesh and microbatch), recompute x sequence parallel, states (ZeRO x shard group x offload), interleave.
By broadcasting, values that depend on the row only are computed once per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clusterwright.plan.run import Layout, Offload, Schedule
from clusterwright.plan.search.meshes import Mesh, interleaves, micro_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

FIELDS = ("tp", "pp", "cp", "ep", "etp", "dp", "micro_batch")  # of a row, as in Mesh
CHOICES = ("recompute", "sequence_parallel", "zero", "shard", "interleave", "offload")
"""Fields that vary within a row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Meshes with a microbatch, one row each, that have the same choices."""

    columns: dict[str, Array]  # FIELDS; `mesh`: index into the list of meshes; `row`: index of the row
    interleave: tuple[int, ...]
    sequence: tuple[int, ...]  # sequence parallelism: (1,) or (1, 0)

    def __len__(self) -> int:
        return len(self.columns["mesh"])

    def select(self, which: Array | slice) -> Rows:
        """Return only the rows that an index array, a mask or a slice selects, as Rows."""
        columns = {name: column[which] for name, column in self.columns.items()}
        return Rows(columns, self.interleave, self.sequence)


@dataclass(frozen=True, slots=True)
class SearchBlock:
    """Rows with all their choices: a layout of broadcasting arrays, and which of its cells are valid."""

    rows: Rows
    layout: Layout
    valid: Array  # of the full shape

    def columns(self, index: tuple[Array, ...]) -> dict[str, Array]:
        """Return FIELDS, CHOICES and the mesh of the layouts at an index of four arrays, as columns."""
        columns = {name: column[index[0]] for name, column in self.rows.columns.items()}
        for name in CHOICES:
            columns[name] = np.broadcast_to(getattr(self.layout, name), self.valid.shape)[index]
        return columns


def rows_of(meshes: Sequence[Mesh], training: Training, options: Options) -> list[Rows]:
    """Return all rows, grouped by what determines their choices: pp, and whether sequence parallelism is optional.

    A row is a mesh with a microbatch; `mesh` is the index of the mesh. Groups without a row or an interleaving are left
    out.
    """
    grouped: dict[tuple[int, tuple[int, ...]], list[tuple[int, ...]]] = {}
    sequence: tuple[int, ...]
    for index, mesh in enumerate(meshes):
        # no effect without tp, mandatory with experts and tp (Megatron-LM): listed once
        sequence = (1, 0) if mesh.tp > 1 and mesh.ep == 1 else (1,)
        rows = grouped.setdefault((mesh.pp, sequence), [])
        rows.extend((*mesh, size, index) for size in micro_batches(training, mesh.dp, options))
    row_groups = []
    for (pp, sequence), rows in sorted(grouped.items()):
        chunks = tuple(interleaves(training.architecture, pp, options))
        if rows and chunks:
            table = np.array(rows, float).T
            columns = {name: table[position] for position, name in enumerate((*FIELDS, "mesh"))}
            columns["row"] = np.arange(len(rows))
            row_groups.append(Rows(columns, chunks, sequence))
    return row_groups


def block_of(
    rows: Rows, training: Training, machine: Machine, options: Options, schedule: Schedule
) -> SearchBlock:
    """Return all layouts of some rows for one schedule, as arrays, with which of them are valid.

    They combine recompute, sequence parallelism, ZeRO, offload and interleaving.
    """
    row = {name: column[:, None, None, None] for name, column in rows.columns.items()}
    passes = [
        (float(recompute_level), float(spread))
        for recompute_level in options.recompute
        for spread in rows.sequence
    ]
    recompute, sequence = _axis_arrays(1, passes, 2)
    zero, inside, offload = _axis_arrays(2, _states(options, pipeline=bool((row["pp"] > 1).any())), 3)
    chunks = rows.interleave if schedule is Schedule.ONE_F_ONE_B else (1,) if 1 in rows.interleave else ()
    (interleave,) = _axis_arrays(3, [(float(chunk),) for chunk in chunks], 1)
    node = np.maximum(machine.gpus_per_node // np.minimum(row["tp"], machine.gpus_per_node), 1)
    sizes: dict[str, Any] = {name: row[name] for name in FIELDS}
    layout = Layout(
        **sizes,
        recompute=recompute,
        sequence_parallel=sequence,
        zero=zero,
        shard=np.where(inside > 0, node, 0.0),
        interleave=interleave,
        offload=offload,
        schedule=schedule,
    )
    valid = _sequence_ok(row, sequence, training) & _schedule_ok(row, interleave, training, schedule)
    valid = valid & _states_ok(row, zero, inside, offload, node) & _gradients_ok(row, zero, training)
    shape = (len(rows), len(passes), zero.size, len(chunks))
    return SearchBlock(rows, layout, np.broadcast_to(valid, shape))


def _axis_arrays(axis: int, choices: Sequence[tuple[float, ...]], fields: int) -> list[Array]:
    """Return an array for each field of the choices, its values along this one of the block's four axes."""
    shape = [1, 1, 1, 1]
    shape[axis] = len(choices)
    table = np.array(choices, float).reshape(-1, fields)
    return [column.reshape(shape) for column in table.T]


def _states(options: Options, *, pipeline: bool) -> list[tuple[float, ...]]:
    """Return possible (ZeRO stage, whether sharded within a node, offload).

    ZeRO 2 is not combined with a pipeline: a stage stores whole gradients until its last microbatch (DeepSpeed refuses
    the combination). Weights are offloaded only in shards (ZeRO 3), or on a single rank.
    """
    lowest = min(options.zero)
    return [
        (float(stage), float(inside), float(offload))
        for stage in options.zero
        if stage != 2 or not pipeline
        for inside in ((0, 1) if stage and options.node_shards else (0,))
        for offload in options.offload
        if offload != Offload.ALL or stage in (3, lowest)
    ]


def _states_ok(row: dict[str, Array], zero: Array, inside: Array, offload: Array, node: Array) -> Array:
    """Return where ZeRO, shard group and offload are valid; a single rank is listed once, groups divide the ranks."""
    ranks = row["dp"] * row["cp"]
    in_nodes = (node > 1) & (node < ranks) & (ranks % node == 0)
    single_rank = (ranks == 1) & (zero == zero.min())
    valid: Array = np.where(inside > 0, in_nodes, (ranks > 1) | single_rank)
    valid &= (offload != Offload.ALL) | (zero == 3) | single_rank
    return valid


def _gradients_ok(row: dict[str, Array], zero: Array, training: Training) -> Array:
    """Return where ZeRO 2 has one microbatch: with more it reduces gradients for each, which is not modeled."""
    valid: Array = (zero != 2) | (training.global_batch == row["dp"] * row["micro_batch"])
    return valid


def _sequence_ok(row: dict[str, Array], sequence: Array, training: Training) -> Array:
    """Return where tp divides the tokens of a sequence, as sequence parallelism needs; true also without it."""
    valid: Array = (sequence == 0) | (row["tp"] == 1) | (training.seq_len % (row["tp"] * row["cp"]) == 0)
    return valid


def _schedule_ok(row: dict[str, Array], interleave: Array, training: Training, schedule: Schedule) -> Array:
    """Return where the schedule is valid: interleaving needs microbatches in multiples of pp (Megatron-LM's rule).

    Without a pipeline only 1F1B is valid.
    """
    count = training.global_batch / row["dp"] / row["micro_batch"]
    rounds: Array = (interleave == 1) | (count % row["pp"] == 0)
    return rounds & ((row["pp"] > 1) | (schedule is Schedule.ONE_F_ONE_B))


def decided(block: SearchBlock) -> int:
    """Count the plans that the block's layouts represent in Calculon's counting.

    Decided without being listed: tp and dp communication overlap where possible (never slower); with sequence
    parallelism tensors are sent by reduce-scatter and all-gather, gathered again in the backward pass; tp is
    innermost, and each group uses its fastest links.
    """
    layout = block.layout
    tensor, data = np.asarray(layout.tp) > 1, np.asarray(layout.dp) > 1
    spread, full = np.asarray(layout.sequence_parallel) > 0, np.asarray(layout.recompute) == 2
    kinds = np.where(spread, np.where(full, 2, 3), 1)
    links = 2.0 ** (tensor * 1 + (np.asarray(layout.pp) > 1) * 1 + data * 1)
    variants = np.where(tensor, 3 * kinds, 1) * np.where(data, 2, 1) * links
    layouts = np.count_nonzero(block.valid, axis=(2, 3), keepdims=True)
    return int((layouts * variants).sum())
