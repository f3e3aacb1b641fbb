"""Temporary memory at the peak: logits, a recomputed layer, gathered parameters, optimizer temporaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.memory.activations import (
    Activations,
    attention,
    dense,
    element,
    experts,
    tokens,
    widths,
)
from clusterwright.plan.memory.stage import FLAT, TORCH, pipelined, vocabulary
from clusterwright.plan.memory.states import engine, expert_shards, shards
from clusterwright.plan.numbers import larger, pick
from clusterwright.plan.parameters import count

if TYPE_CHECKING:
    from clusterwright.plan.memory.stage import MemoryStage, StageParameters
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run


def transients(run: Run, stage: MemoryStage, parameters: StageParameters) -> Real:
    """Return the temporary bytes of a stage at the peak of an iteration.

    The larger of loss and one layer's backward pass, besides gathered parameters and buckets.
    """
    return larger(stage.last * loss(run), backward(run)) + gathered(run) + engine(run, parameters)


def stepping(run: Run, parameters: StageParameters) -> Real:
    """Temporary bytes of the optimizer step: gradients cast to fp32, temporaries of an unfused optimizer.

    0 if `step_bytes` of the training is 0.
    """
    layout, work = run.layout, run.training
    if not work.step_bytes:
        return 0.0
    dense = parameters.dense / pick(layout.zero >= 1, shards(layout), 1)
    return work.step_bytes * (dense + parameters.expert / pick(layout.zero >= 1, expert_shards(layout), 1))


def loss(run: Run) -> Real:
    """Temporary bytes of the loss: logits in the products' precision and in fp32, the latter updated in place.

    As in Megatron's vocabulary-parallel cross entropy; 0 with a fused loss.
    """
    work, layout = run.training, run.layout
    if work.fused_loss:
        return 0.0
    logit_bytes = work.logit_bytes or logit(run)
    logit_bytes += 4.0 * work.architecture.mtp_layers
    is_sharded = (layout.sequence_parallel > 0) & (run.stack.family not in TORCH)
    head = 2 * element(work) * work.architecture.hidden / pick(is_sharded, layout.tp, 1)
    return tokens(run) * (logit_bytes * vocabulary(run) / layout.tp + head)


def logit(run: Run) -> Real:
    """Default bytes per logit at the peak of the loss, by software family.

    PyTorch's loss on logits cast to fp32 peaks in its backward pass: the log-softmax, its gradient and that of
    the logits, 4 bytes each (the logits are freed by then); sharded over tp one more (DTensor's
    `_nll_loss_and_log_softmax_backward`); without the cast, 8 bytes. XLA stores two in fp32.
    """
    if run.stack.family in TORCH:
        return 8.0 if run.training.low_states else pick(run.layout.tp > 1, 16.0, 12.0)
    return element(run.training) + (8.0 if run.stack.family in FLAT else 4.0)


def backward(run: Run) -> Real:
    """Return the temporary bytes of one layer's backward pass, besides its stored activations.

    Gradients of its feed-forward part together with all of a recomputed layer; or, after that part is freed,
    gradients of its attention.
    """
    layout = run.layout
    recompute, ffn = 1.0 * (layout.recompute >= 2), dense(run, ()).on(layout)
    if run.training.architecture.experts:
        ffn = larger(ffn, experts(run, ()).on(layout))
    mixer = attention(run, ()).on(layout)
    of_ffn = recompute * (mixer + ffn) + ffn_gradients(run).on(layout)
    of_mixer = recompute * mixer + attention_gradients(run).on(layout)
    return tokens(run) * (larger(of_ffn, of_mixer) + recompute * joined(run))


def joined(run: Run) -> Real:
    """Return the bytes per token of sequences gathered over tp in a recomputed layer.

    DTensor stores the gathered sequences, Megatron gathers them twice.

    These are the inputs of both parts of the layer, and the gradient of one.
    """
    layout = run.layout
    is_gathered = (layout.tp > 1) & (layout.sequence_parallel > 0) & (run.stack.family in TORCH)
    sequence_bytes = 3 * element(run.training) * run.training.architecture.hidden
    return pick(is_gathered, sequence_bytes * (1 - 1 / layout.tp), 0.0)


def ffn_gradients(run: Run) -> Activations:
    """Return the gradients of a feed-forward part; the saved input of its last product is freed by then."""
    work, model = run.training, run.training.architecture
    width = max(model.ffn, model.expert_ffn * model.experts_per_token + model.shared_ffn)
    return Activations(
        sharded=element(work) * width * (2 if model.gated else 1), replicated=2 * element(work) * model.hidden
    )


def attention_gradients(run: Run) -> Activations:
    """Return the gradients of queries, keys and values.

    Without flash attention also of scores before and after the softmax.
    """
    work, model = run.training, run.training.architecture
    scores = 0.0 if work.flash_attention else 2 * model.heads * work.seq_len
    return Activations(
        sharded=element(work) * (sum(widths(model)) + scores), replicated=2 * element(work) * model.hidden
    )


def gathered(run: Run) -> Real:
    """Return the bytes that ZeRO-3 gathers: parameters and gradient of the largest unit, parameters of the next layer.

    Units are layers, embedding and head. In PyTorch's pipelines all parameters stay gathered (counted as weights):
    only the gradient of the current layer is temporary.
    """
    layout, params = run.layout, count(run.training.architecture)
    dense_parameters = params.attention + params.down + (params.dense_ffn if params.dense_layers else 0)
    moe = (
        params.shared + params.router + params.expert * params.experts / (layout.ep * layout.etp) * layout.tp
    )
    layer = dense_parameters + moe * (params.moe_layers > 0)
    largest = larger(layer, vocabulary(run) * run.training.architecture.hidden)
    at_work = pick(pipelined(run), layer, pick(layout.zero >= 3, 2 * largest + layer, 0.0))
    return element(run.training) * at_work / layout.tp
