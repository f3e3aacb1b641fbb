"""Parallel layout of a row: degrees given, degrees that follow from them, and usual choices of the software."""

from __future__ import annotations

import re
from math import gcd, lcm
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.numbers import divisors
from clusterwright.plan.predict import habits
from clusterwright.plan.predict.meshes import MOE_SLOTS, SLOTS
from clusterwright.plan.predict.row_text import data_parallel_degree, mentions
from clusterwright.plan.run import Layout

if TYPE_CHECKING:
    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.predict.setting import Setting


_HYBRID = r"\bHSDP\b|hybrid[- ]shard|(?:in|intra|inside)[- ]node shard|\bmics\b|zero\+\+|hpz"
_STATE_BYTES = 16  # per parameter with Adam: 2 weights, 2 or 4 gradient, 12 optimizer and fp32 copy
_STATE_SHARE = 0.75  # of a GPU's memory that states may use
_MOST_TP = 8  # tensor parallelism stays within a node
_DISTRIBUTED_OPTIMIZER_SINCE = 2023
_LARGE, _NODES_OF_LARGE = 5e9, 8  # parameters without experts; pretraining of such a model uses several nodes


def gpus_of(cells: Cells, node: int) -> int:
    """Return the number of GPUs of the row; default: the product of the parallel degrees, noted.

    Without a data-parallel degree: the lowest multiple of the others that fills a node of `node` GPUs, or 8 nodes if
    layers and hidden make more than 5 billion parameters.
    """
    requested = cells.integer("num_gpus")
    if requested:
        return requested
    tp, pp, cp, ep = (cells.integer(column) or 1 for column in ("tp", "pp", "cp", "ep"))
    least = pp * lcm(tp * cp, ep)
    degree = data_parallel_degree(cells)
    size = 12 * (cells.integer("layers") or 0) * (cells.integer("hidden") or 0) ** 2
    usual = _NODES_OF_LARGE * node if size > _LARGE else node
    gpus = tp * pp * cp * degree if degree else -(-usual // least) * least
    cells.note(_("no number of GPUs given: assumed {gpus}", gpus=gpus))
    return gpus


def layout(cells: Cells, setting: Setting) -> tuple[Layout, int]:
    """Return the parallel layout of a row, and the global batch in sequences.

    What is inferred is noted; ZeRO 3 with a pipeline becomes ZeRO 2.
    """
    zero = _zero(cells, setting)
    tp, pp, cp = _model_parallel(cells, setting, zero)
    dp = _replicas(cells, setting, tp * pp * cp)
    if zero == 3 and pp > 1:
        zero = 2
        cells.note(
            _("assumed ZeRO stage 2: with a pipeline, FSDP keeps gathered weights between microbatches")
        )
    batch, micro = batch_of(cells, setting, dp, pp)
    ep = habits.experts(cells, setting, dp * cp * tp)
    if setting.model.layers:  # an unknown model has none
        _check(cells, setting, tp, pp)
    return (
        Layout(
            dp=dp,
            tp=tp,
            pp=pp,
            cp=cp,
            ep=ep,
            etp=habits.expert_tensor(cells, setting, tp),
            interleave=habits.interleave(cells, setting, pp, batch // (dp * micro)),
            micro_batch=micro,
            zero=zero,
            shard=_shard(cells, setting, dp, cp),
            recompute=habits.recompute(cells, setting, zero),
            sequence_parallel=habits.sequence_parallel(cells, setting, tp),
            offload=habits.offload(cells),
            schedule=habits.schedule(cells),
            recompute_modules=habits.modules(cells, setting),
        ),
        batch,
    )


def _zero(cells: Cells, setting: Setting) -> int:
    requested = cells.number("zero_stage")
    if requested is not None:
        if requested not in (0, 1, 2, 3):
            cells.wrong(
                "predict-not-a-size",
                _("zero_stage is {text}, but must be 0, 1, 2 or 3", text=cells.text("zero_stage")),
                _("write 0, 1, 2 or 3 for zero_stage, such as 3 for FSDP"),
            )
        return 3 if "use-megatron-fsdp" in setting.settings else int(requested)
    if mentions(cells, r"\bFSDP|\bHSDP") or setting.stack.family == "fsdp":
        return 3
    if mentions(cells, r"dist-opt|distributed optimi[sz]er"):
        return 1
    stage = 1 if setting.stack.year >= _DISTRIBUTED_OPTIMIZER_SINCE else 0
    stage = 3 if setting.stack.family in {"maxtext", "deepspeed", "nemo-automodel"} else stage
    cells.note(
        _(
            "no ZeRO stage given: assumed {stage}, usual in {family} of {year}",
            stage=stage,
            family=setting.stack.family,
            year=setting.stack.year,
        )
    )
    return stage


def _shard(cells: Cells, setting: Setting, dp: int, cp: int) -> int:
    """Return the number of GPUs that one copy is sharded over; 0: all of them.

    It is that of `FSDP:n` times cp, or the number in `sharded over n GPUs`, if fewer than all; with HSDP a node's.
    """
    degree = data_parallel_degree(cells) or 0
    if mentions(cells, r"\bFSDP:") and degree < dp:
        return degree * cp
    match = re.search(r"(?:spread|sharded) over (\d+) GPUs", cells.full_text, re.IGNORECASE)
    if match and 0 < int(match[1]) < dp * cp:
        return int(match[1])
    return min(setting.node, dp * cp) if mentions(cells, _HYBRID) else 0


def _model_parallel(cells: Cells, setting: Setting, zero: int) -> tuple[int, int, int]:
    tp, pp, cp = (cells.integer(column) for column in ("tp", "pp", "cp"))
    settings = setting.settings
    cp = cp or int(settings.get("CP", "1"))
    if tp and pp:
        return tp, pp, cp
    if zero == 3:
        cells.note(_("no tp and pp given: assumed 1, as FSDP shards the weights"))
        return tp or 1, pp or 1, cp
    if setting.model.experts:
        tp, pp = tp or 1, pp or _least_stages(cells, setting, (tp or 1) * cp)
        cells.note(_("no tp and pp given: assumed {tp} and {pp} if that fits", tp=tp, pp=pp), "mesh")
        return tp, pp, cp
    need = setting.parameters * _STATE_BYTES / (setting.gpu.memory_bytes * _STATE_SHARE)
    tp = tp or _power_of_two(min(need, _MOST_TP, setting.node), setting.model.heads)
    pp = pp or next(
        (p for p in divisors(setting.model.layers) if p >= need / tp and setting.gpus % (p * tp) == 0), 1
    )
    cells.note(
        _("no tp and pp given: assumed {tp} and {pp}, the lowest whose weights and states fit", tp=tp, pp=pp),
        "mesh",
    )
    return tp, pp, cp


def _least_stages(cells: Cells, setting: Setting, degree: int) -> int:
    """Return the fewest pipeline stages, a power of two up to 128, with which replicas divide the batch; else 1.

    `degree` is the GPUs of a stage.
    """
    batch = cells.integer("global_batch") or setting.gpus
    able = (1 << power for power in range(8) if setting.gpus % (degree << power) == 0)
    return next((pp for pp in able if batch % (setting.gpus // (degree * pp)) == 0), 1)


def _power_of_two(least: float, heads: int) -> int:
    degree = 1
    while degree < least and heads % (degree * 2) == 0:
        degree *= 2
    return degree


def _replicas(cells: Cells, setting: Setting, degree: int) -> int:
    if setting.gpus % degree:
        cells.wrong(
            "predict-gpus-differ",
            _(
                "tp x pp x cp is {degree}, which does not divide {gpus} GPUs",
                degree=degree,
                gpus=setting.gpus,
            ),
            _("use {degree} GPUs or a multiple, or smaller sizes", degree=degree),
        )
        return 1
    dp, row_dp = setting.gpus // degree, data_parallel_degree(cells)
    if row_dp and row_dp * degree != setting.gpus and not (mentions(cells, r"\bFSDP:") and dp % row_dp == 0):
        cells.wrong(
            "predict-gpus-differ",
            _(
                "dp x tp x pp x cp is {dp} x {degree} = {product}, but num_gpus is {gpus}",
                dp=row_dp,
                degree=degree,
                product=row_dp * degree,
                gpus=setting.gpus,
            ),
            _("make dp x tp x pp x cp equal to num_gpus"),
        )
    return dp


def _check(cells: Cells, setting: Setting, tp: int, pp: int) -> None:
    """Add a problem to the row if `tp` does not divide the attention heads, or `pp` the layers; raise nothing."""
    heads = setting.model.heads
    if heads % tp:
        message = _("{heads} heads are not divisible by tp {tp}", heads=heads, tp=tp)
        cells.wrong("predict-heads-indivisible", message, _("give a `tp` that divides the attention heads"))
    _check_stages(cells, setting, pp)


def _check_stages(cells: Cells, setting: Setting, pp: int) -> None:
    layers, spare = setting.model.layers, -setting.model.layers % pp
    uneven = "deepspeed" in setting.stack.family  # DeepSpeed partitions by parameters, not by layers
    if spare not in (MOE_SLOTS if setting.model.experts else SLOTS) and not uneven:
        message = _("{layers} layers are not divisible by pp {pp}", layers=layers, pp=pp)
        cells.wrong("predict-layers-indivisible", message, _("give a `pp` that divides the layers"))
    elif spare:
        cells.note(
            _("{layers} layers in {pp} stages: embedding and head count as layers", layers=layers, pp=pp)
        )


# torchtitan's pipelines: one sequence per microbatch (commit 5e2033c, 2025-04); before, one microbatch per stage.
_SINGLE_SEQUENCE_SINCE = 2025
_TOKENS = 2**22  # per step if no batch is given: LLaMA-2 and most models of 7B and more train with 4M


def batch_of(cells: Cells, setting: Setting, dp: int, pp: int) -> tuple[int, int]:
    """Return (global batch, microbatch) in sequences, inferred and noted where not given.

    A batch that dp x microbatch does not divide adds a problem.
    """
    batch, micro = cells.integer("global_batch"), cells.integer("micro_batch")
    steps = setting.settings.get("GA") or setting.settings.get("GAS") or setting.settings.get("grad_accum")
    if micro is None and batch and steps and steps.isdigit() and batch % (dp * int(steps)) == 0:
        micro = batch // (dp * int(steps))
        cells.note(_("no microbatch given: {micro}, from gradient accumulation in the notes", micro=micro))
    if batch is None:
        unit = dp * (micro or 1)
        batch = max(1, _TOKENS // (cells.integer("seq_len") or 2048) // unit) * unit
        cells.note(_("no global batch given: assumed {batch} sequences, about 4 million tokens", batch=batch))
    if micro is None:
        share = batch // dp if batch % dp == 0 else 1
        stages = (
            mentions(cells, "torchtitan") and setting.stack.year < _SINGLE_SEQUENCE_SINCE and share % pp == 0
        )
        micro = share // pp if stages and pp > 1 else usual_micro_batch(share, pp)
        cells.note(_("no microbatch given: assumed {micro}", micro=micro), "micro_batch")
    if batch % (dp * micro):
        cells.wrong(
            "predict-batch-indivisible",
            _(
                "global_batch {batch} is not divisible by dp x micro_batch = {dp} x {micro}",
                batch=batch,
                dp=dp,
                micro=micro,
            ),
            _("give a global_batch that is a multiple of dp x micro_batch"),
        )
    return batch, micro


def usual_micro_batch(share: int, pp: int) -> int:
    """Return the usual microbatch: 1 with a pipeline, to limit the bubble; else gcd of 4 and a replica's share."""
    return 1 if pp > 1 else gcd(share, 4)
