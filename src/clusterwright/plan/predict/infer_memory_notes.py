"""What memory needs to know beyond the columns of a row: flags in its notes, and its software's defaults."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.plan.memory.reported import Definition
from clusterwright.plan.predict.words import says
from clusterwright.plan.run import Recompute

if TYPE_CHECKING:
    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.run import Layout, Run, Training


# Words of a source or note -> what its memory figure is; the first that is found.
_DEFINITIONS = (
    (r"\(rank reported\)|functional-test golden", Definition.LAST_RANK),
    (r"nvidia-smi|bigscience", Definition.TOTAL),
    (r"max_memory_reserved", Definition.RESERVED),
)
# Bytes of one logit where the loss is not the family's own: torchtitan compiles it, over logits in bf16;
# Megatron's fused one (`cross-entropy-loss-fusion`, native) does not work in place: bf16 and twice fp32;
# llm-foundry takes flash-attention's fused one, whose gradient is in bf16 too.
_LOGITS = (
    (r"torchtitan", 2.0),
    (r"cross[-_]entropy[-_]loss[-_]fusion", 10.0),
    (r"llm-foundry|\bmpt\b", 4.0),
)

_OLD_MEGATRON = (
    r"zero[- ]bubble"  # papers of 2024 whose Megatron was of early 2023: no flash attention, dropout
)
_TORCHTITAN_SEQ_LEN = 2048  # `training.seq_len` of its job configuration


def definition(cells: Cells) -> Definition:
    """Which number a measurement of this source would be; the allocator's peak where it does not say."""
    return next((kind for words, kind in _DEFINITIONS if says(cells, words)), Definition.ALLOCATED)


def with_memory_facts(run: Run, cells: Cells, settings: dict[str, str]) -> Run:
    """The run with what is kept, cut and fused as the notes say."""
    layout = _layout(run, cells, settings)
    return replace(run, training=_training(run, cells, settings), layout=layout)


def _training(run: Run, cells: Cells, settings: dict[str, str]) -> Training:
    work = run.training
    seq_len = work.seq_len
    if "seq_len" in cells.inferred and says(cells, "torchtitan"):
        seq_len = _TORCHTITAN_SEQ_LEN
        cells.note(f"sequence length {seq_len}, torchtitan's default", "seq_len")
    old = "attention-backend" not in settings and says(cells, _OLD_MEGATRON)
    return replace(
        work,
        seq_len=seq_len,
        dropout=work.dropout or old or _dropout(run, settings),
        flash_attention=work.flash_attention and not old,
        optimizer="muon" if says(cells, r"(?<![a-z])muon(?![a-z])") else work.optimizer,
        fused_loss=says(cells, r"\bliger\b|cut[- ]cross[- ]entropy"),
        grouped_experts="transformer-impl" not in settings or says(cells, "moe-grouped-gemm=True"),
        logit_bytes=_logit_bytes(run, cells),
        fp8_parameters=_fp8_parameters(cells, work),
    )


def _logit_bytes(run: Run, cells: Cells) -> float:
    """By whose loss it is; where the head's weight gradient is deferred to the bubble, some wait in bf16."""
    if says(cells, r"defer[-_]embedding[-_]wgrad[-_]compute"):
        return 6.0 + 2.0 * float(run.layout.pp)  # those of as many microbatches as there are stages
    return next((held for words, held in _LOGITS if says(cells, words)), 0.0)


def _fp8_parameters(cells: Cells, work: Training) -> bool:
    """By flag, and in NeMo's and Bridge's fp8 recipes, which gather parameters in fp8."""
    recipe = work.precision in {"fp8", "mxfp8"} and says(cells, r"\bnemo\b|megatron-bridge|dgxc")
    return recipe or says(cells, r"fp8-param-gather=True")


def _dropout(run: Run, settings: dict[str, str]) -> bool:
    """Megatron's own default is 0.1; models without biases and with a head of their own are trained without."""
    flags = run.stack.family == "megatron" and bool(
        {"transformer-impl", "attention-backend"} & settings.keys()
    )
    model = run.training.architecture
    return flags and (model.tied or settings.get("disable-bias-linear") != "True")


def _layout(run: Run, cells: Cells, settings: dict[str, str]) -> Layout:
    cut, model = run.layout, run.training.architecture
    if model.experts and "transformer-impl" in settings and "expert-tensor-parallel-size" not in settings:
        cut = replace(cut, etp=cut.tp)  # Megatron-Core's default
    instances = settings.get("num-distributed-optimizer-instances", "1")
    if instances.isdigit() and int(instances) > 1:
        cut = replace(cut, shard=max(1, cut.dp * cut.cp // int(instances)))
    if "recompute" in cells.inferred and says(cells, "torchtitan"):
        cells.note("recomputation selective by operation, torchtitan's default", "recompute")
        return replace(cut, recompute=Recompute.SELECTIVE, recompute_modules=("per-op",))
    named = re.search(r"recompute-modules=\[([\w ]+)\]", cells.text("notes_url"))
    if named:
        cut = replace(cut, recompute_modules=tuple(named[1].split()))
    elif "per-op" in cells.text("recompute") or says(cells, "torchtitan"):
        cut = replace(cut, recompute_modules=("per-op",))
    return cut
