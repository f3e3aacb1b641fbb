"""One pipeline stage: its layers, parameters and microbatches in flight, by schedule and software."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterwright.plan.numbers import larger, pick, smaller
from clusterwright.plan.parameters import count, padded_vocab
from clusterwright.plan.run import Schedule

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.parameters import Parameters
    from clusterwright.plan.run import Layout, Run, Training


PADS = ("megatron", "megatron-deepspeed")  # pad the vocabulary to a multiple of 128 x tp
FLAT = ("fsdp", "nemo-automodel", "maxtext")  # under ZeRO-3 their only sharded copy is the fp32 one
TORCH = ("fsdp", "nemo-automodel")  # PyTorch's FSDP, tensor parallelism and pipelines
DEEPSPEED = ("deepspeed", "megatron-deepspeed")


def pipelined(run: Run) -> Any:
    """True where FSDP is combined with pipeline parallelism: parameters stay gathered between microbatches.

    `PipelineStage.backward_maybe_with_nosync` of torch.distributed turns resharding off until the last one;
    torchtitan does not reshard after the forward pass either, nor did Llama 3's trainer (2407.21783, 3.3.2).
    """
    return (run.stack.family in TORCH) & (run.layout.zero >= 2) & (run.layout.pp > 1)


def deepspeed(run: Run) -> Any:
    """True where the run uses ZeRO of DeepSpeed."""
    return (run.stack.family in DEEPSPEED) & (run.layout.zero >= 1)


@dataclass(frozen=True, slots=True)
class MemoryStage:
    """The part of the model on one pipeline stage; counts are layers over all its chunks (virtual stages)."""

    index: Real
    has_embedding: Real  # 1 if the stage has the embedding
    last: Real  # 1 if the stage has the head and computes the loss
    layers: Real
    dense: Real  # with a dense feed-forward part
    moe: Real
    attention: Real
    mamba: Real
    mtp: Real  # multi-token-prediction layers


def stage_at(params: Parameters, layout: Layout, index: Real) -> MemoryStage:
    """Return the pipeline stage `index`, 0 to pp - 1.

    A remainder of layers goes to the stages after the first, one each: with a remainder of pp - 2 that is
    the usual even split which counts the embedding and the head as a layer each.
    """
    layers, start = _span(params.layers, layout.pp, index)
    ffn = (params.dense_layers + params.moe_layers) / params.layers
    dense = layers * params.dense_layers / params.layers
    if (
        0 < params.dense_layers < params.moe_layers
    ):  # dense layers come first; if half are dense they alternate
        dense = smaller(larger(params.dense_layers - start * ffn, 0), layers * ffn)
    last = 1.0 * (index == layout.pp - 1)
    if layout.schedule is Schedule.ZB_V:  # V schedule: the first GPU computes the loss too
        last = 1.0 * (index == 0)
    return MemoryStage(
        index=index,
        has_embedding=1.0 * (index == 0),
        last=last,
        layers=layers,
        dense=dense,
        moe=layers * ffn - dense,
        attention=layers * params.attentions / params.layers,
        mamba=layers * params.mamba_layers / params.layers,
        mtp=params.mtp_layers * last,
    )


@dataclass(frozen=True, slots=True)
class StageParameters:
    """Parameters on one GPU of a stage, before ZeRO shards them."""

    dense: Real  # all except experts
    expert: Real
    matrices: Real  # dense ones whose products may run in fp8


def stage_parameters(run: Run, stage: MemoryStage) -> StageParameters:
    """Count the parameters on one GPU of a stage, with the copy of a tied embedding on the last stage."""
    layout, params = run.layout, count(run.training.architecture)
    tp, replicated = layout.tp, params.down * stage.attention + params.norms * stage.layers
    body = stage.attention * params.attention + stage.mamba * params.mamba + stage.dense * params.dense_ffn
    body = (body + stage.moe * params.shared) / tp + replicated + stage.moe * params.router
    extra = stage.mtp * (params.mtp_layer - params.expert * params.experts * (params.moe_layers > 0))
    body = body + (extra + stage.mtp * params.mtp / max(params.mtp_layers, 1)) / tp
    moe = stage.moe + stage.mtp * (params.moe_layers > 0)
    expert = moe * params.experts * params.expert / (layout.ep * layout.etp)
    ends = _ends(run, params, stage)
    replicas = 2 if layout.schedule is Schedule.DUALPIPE else 1  # layers of both directions
    return StageParameters(replicas * (body + ends), replicas * expert, replicas * (body - replicated))


def vocabulary(run: Run) -> Real:
    """Vocabulary size of the run's model, padded to a multiple of 128 tp if the software family pads it (Megatron)."""
    vocab = run.training.architecture.vocab
    return padded_vocab(vocab, run.layout.tp) if run.stack.family in PADS else vocab


def _ends(run: Run, params: Parameters, stage: MemoryStage) -> Real:
    table = vocabulary(run) * run.training.architecture.hidden / run.layout.tp
    on_last = stage.last if params.head else stage.last * (1 - stage.has_embedding)
    also = pick(stage.mtp > 0, stage.last * (1 - stage.has_embedding), 0)  # MTP reads the embedding again
    embedding = stage.has_embedding * (table + params.positions)
    return embedding + (on_last + also) * table + stage.last * params.final_norm


def _span(layers: int, stages: Real, index: Real) -> tuple[Real, Real]:
    """Return (number of layers, index of the first layer) of a stage."""
    per_stage, extra = layers // stages, layers % stages
    more = 1.0 * ((index >= 1) & (index <= extra))
    return per_stage + more, index * per_stage + smaller(larger(index - 1, 0), extra)


def microbatches(work: Training, layout: Layout) -> Real:
    """Return the number of microbatches per replica and iteration; at least 1."""
    return larger(work.global_batch / (layout.dp * layout.micro_batch), 1)


def in_flight(work: Training, layout: Layout, index: Real) -> Real:
    """Return the microbatches whose activations a stage stores at its peak; may be fractional with interleaving.

    1F1B: one more than the stages after it (Narayanan et al. 2104.04473, 2.2; interleaved: as Megatron-Core
    counts its warm-up). Zero bubble: a stage stores activations until the weights' gradients are computed, at
    most p or 2 p microbatches (ZB-1p, ZB-2p; Qi et al. 2401.10241, 4); V schedule: 2405.15362. DualPipe:
    DeepSeek-V3, 2412.19437, table 2.
    """
    number = microbatches(work, layout)
    later_stages = layout.pp - index - 1
    match layout.schedule:
        case Schedule.AFAB:
            return number
        case Schedule.ZB_H1 | Schedule.ZB_V:
            return smaller(layout.pp, number)
        case Schedule.ZB_H2:
            return smaller(2 * layout.pp, number)
        case Schedule.DUALPIPE:
            return smaller((layout.pp + 1) / 2, number)  # for each of its two copies
    ahead = 2 * later_stages + (layout.interleave - 1) * layout.pp
    chunks = smaller(ahead + 1, number * layout.interleave) / layout.interleave
    return pick(layout.interleave > 1, chunks, smaller(later_stages + 1, number))
