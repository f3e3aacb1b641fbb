"""Settings that affect memory and have no column: flags in a row's notes, and defaults of its software."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.memory import Definition, MemoryFit, classify_fit, peak
from clusterwright.plan.memory.stage import TORCH
from clusterwright.plan.memory.transients import logit
from clusterwright.plan.predict.row_text import mentions
from clusterwright.plan.run import Recompute

if TYPE_CHECKING:
    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.run import Layout, Run, Training


# Pattern of a source or note -> definition of its memory figure; the first match counts.
_DEFINITIONS = (
    (r"\(rank reported\)|functional-test golden", Definition.LAST_RANK),
    (r"nvidia-smi|bigscience", Definition.TOTAL),
    (r"max_memory_reserved|torchtitan", Definition.RESERVED),  # torchtitan logs reserved memory
    (r"allocated|megatron|simumax|kempnerforge", Definition.ALLOCATED),  # their own logs
)
# Bytes per logit for a loss other than the family's default: Megatron's fused one (`cross-entropy-loss-fusion`,
# native) is not in place: bf16 and twice fp32; llm-foundry uses flash-attention's fused one, whose
# gradient is in bf16 too.
_LOGITS = ((r"cross[-_]entropy[-_]loss[-_]fusion", 10.0), (r"llm-foundry|\bmpt\b", 4.0))

_OLD_MEGATRON = r"zero[- ]bubble"  # papers of 2024 with a Megatron of early 2023: no flash attention, dropout
_COMPILED_LOSS_SINCE = 2025  # in torchtitan (its commit d1f62be, 2025-02): logits once, in bf16
_COMPILED_LOGIT = 2.0
_EAGER = r"(?<![\w-])eager\b|\b(?:no|not|without) (?:torch[. ])?compil"
# Trainers that reduce gradients after each microbatch with FSDP: torchtitan always does, Composer's sync
# context is for DDP only. Others accumulate unsharded (Accelerate, Fabric, KempnerForge, NeMo AutoModel by default),
# and so do PyTorch's pipelines: `PipelineStage.backward_maybe_with_nosync`.
_REDUCES_PER_MICROBATCH = r"torchtitan|llm-foundry|\bmpt\b|mosaic|composer"
# Weights and Adam's moments in bf16 without an fp32 copy: stated in the row, or the trainer casts the model.
_LOW_STATES = r"pure[- ]bf16|bf16[- ]true|bf16 (?:weights|parameters) and moments|kempnerforge"
_LOGITS_GATHERED = r"kempnerforge"  # its head is sharded by tp and gathered for the loss
# AdamW of torch, not fused: gradients cast to fp32, and the roots of the second moments (`_multi_tensor_adamw`).
_STEPS = ((r"internevo|internlm", 8.0),)


def definition(cells: Cells) -> Definition:
    """Return the definition of memory figures in the row's source; default: reserved, which is between the others."""
    return next((kind for pattern, kind in _DEFINITIONS if mentions(cells, pattern)), Definition.RESERVED)


def with_memory_facts(run: Run, cells: Cells, settings: dict[str, str]) -> Run:
    """Return the run with memory settings from the notes: states, sharding, fused loss, recomputed modules.

    Unsharded gradients are left out if the run does not fit with them; other settings that do not fit stay.
    """
    with_layout = replace(run, layout=_layout(run, cells, settings))
    full_run = replace(with_layout, training=_training(with_layout, cells, settings))
    if (
        full_run.training.unsharded_gradients
        and classify_fit(peak(full_run), run.machine.gpu) is MemoryFit.OOM
    ):
        reduced = replace(full_run.training, unsharded_gradients=False)  # usual in that case
        return replace(full_run, training=reduced)
    return full_run


def _training(run: Run, cells: Cells, settings: dict[str, str]) -> Training:
    work = replace(run.training, low_states=mentions(cells, _LOW_STATES))
    old = "attention-backend" not in settings and mentions(cells, _OLD_MEGATRON)
    return replace(
        work,
        dropout=work.dropout or old or _dropout(run, settings),
        flash_attention=work.flash_attention and not old,
        optimizer="muon" if mentions(cells, r"(?<![a-z])muon(?![a-z])") else work.optimizer,
        fused_loss=mentions(cells, r"\bliger\b|cut[- ]cross[- ]entropy"),
        grouped_experts="transformer-impl" not in settings or mentions(cells, "moe-grouped-gemm=True"),
        logit_bytes=_logit_bytes(replace(run, training=work), cells),
        fp8_parameters=_fp8_parameters(cells, work),
        unsharded_gradients=run.stack.family in TORCH
        and (float(run.layout.pp) > 1 or not mentions(cells, _REDUCES_PER_MICROBATCH)),
        step_bytes=next((size for pattern, size in _STEPS if mentions(cells, pattern)), 0.0),
    )


def _logit_bytes(run: Run, cells: Cells) -> float:
    """Return the bytes per logit of the loss that the row's text names.

    0 if the text names none; the caller then takes the default of the software family.
    """
    if mentions(cells, r"defer[-_]embedding[-_]wgrad[-_]compute"):
        return 6.0 + 2.0 * float(
            run.layout.pp
        )  # deferred to the bubble: bf16 logits of as many microbatches as stages
    if (
        mentions(cells, "torchtitan")
        and run.stack.year >= _COMPILED_LOSS_SINCE
        and not mentions(cells, _EAGER)
    ):
        return _COMPILED_LOGIT
    if mentions(cells, _LOGITS_GATHERED):
        return float(logit(run) * run.layout.tp)
    return next((size for pattern, size in _LOGITS if mentions(cells, pattern)), 0.0)


def _fp8_parameters(cells: Cells, work: Training) -> bool:
    """True if parameters are stored in fp8: by flag, and in NeMo's and Bridge's fp8 recipes."""
    recipe = work.precision in {"fp8", "mxfp8"} and mentions(cells, r"\bnemo\b|megatron-bridge|dgxc")
    return recipe or mentions(cells, r"fp8-param-gather=True")


def _dropout(run: Run, settings: dict[str, str]) -> bool:
    """True if Megatron's default dropout of 0.1 applies: rows with its flags, models with biases or a tied head."""
    flags = run.stack.family == "megatron" and bool(
        {"transformer-impl", "attention-backend"} & settings.keys()
    )
    model = run.training.architecture
    return flags and (model.tied or settings.get("disable-bias-linear") != "True")


def _layout(run: Run, cells: Cells, settings: dict[str, str]) -> Layout:
    layout, model = run.layout, run.training.architecture
    if model.experts and "transformer-impl" in settings and "expert-tensor-parallel-size" not in settings:
        layout = replace(layout, etp=layout.tp)  # Megatron-Core's default
    instances = settings.get("num-distributed-optimizer-instances", "1")
    if instances.isdigit() and int(instances) > 1:
        layout = replace(layout, shard=max(1, layout.dp * layout.cp // int(instances)))
    if "recompute" in cells.inferred and mentions(cells, "torchtitan"):
        cells.note(_("assumed selective recomputation per operation, torchtitan's default"))
        if "seq_len" in cells.inferred:  # then sequences are shortened before more is recomputed
            cells.inferred.discard("recompute")
        return replace(layout, recompute=Recompute.SELECTIVE, recompute_modules=("per-op",))
    named = re.search(r"recompute-modules=\[([\w ]+)\]", cells.text("notes_url"))
    if named:
        layout = replace(layout, recompute_modules=tuple(named[1].split()))
    elif "per-op" in cells.text("recompute") or mentions(cells, "torchtitan"):
        layout = replace(layout, recompute_modules=("per-op",))
    return layout
