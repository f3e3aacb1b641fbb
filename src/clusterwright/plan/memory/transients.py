"""What is held for a moment at the fullest instant: logits, a recomputed layer, gathered parameters."""

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
    from clusterwright.plan.memory.stage import Stage, StageParameters
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run


def transients(run: Run, stage: Stage, parameters: StageParameters) -> Real:
    """The larger of the loss on the last stage and one layer's backward pass; gathered parameters; buckets."""
    return larger(stage.last * loss(run), backward(run)) + gathered(run) + engine(run, parameters)


def stepping(run: Run, parameters: StageParameters) -> Real:
    """While the optimiser steps: gradients cast to fp32 and temporaries of an optimiser that is not fused."""
    layout, work = run.layout, run.training
    if not work.step_bytes:
        return 0.0
    dense = parameters.dense / pick(layout.zero >= 1, shards(layout), 1)
    return work.step_bytes * (dense + parameters.expert / pick(layout.zero >= 1, expert_shards(layout), 1))


def loss(run: Run) -> Real:
    """Logits in the products' precision and in fp32: the loss works in place on the second.

    As Megatron's vocabulary-parallel cross entropy.
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
    """Bytes of one, where nothing is said.

    torch's own loss, of logits cast to fp32 peaks in its backward pass: the log-softmax, its gradient and that of
    the logits, 4 bytes each (the logits themselves are let go of by then); cut over tp one more (DTensor's
    `_nll_loss_and_log_softmax_backward`); all of that and the logits in 2 bytes where nothing is cast.
    XLA keeps two in fp32.
    """
    if run.stack.family in TORCH:
        return 8.0 if run.training.low_states else pick(run.layout.tp > 1, 16.0, 12.0)
    return element(run.training) + (8.0 if run.stack.family in FLAT else 4.0)


def backward(run: Run) -> Real:
    """What one layer holds while its backward pass runs, beyond what was kept for it.

    Gradients of its feed-forward part, while all of a recomputed layer is there; or, after that part is
    done and freed, gradients of its attention.
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
    """Sequences joined again over tp: DTensor keeps them as inputs of the products, Megatron joins them twice.

    Of a recomputed layer the inputs of both its parts, and the gradient of one.
    """
    layout = run.layout
    is_gathered = (layout.tp > 1) & (layout.sequence_parallel > 0) & (run.stack.family in TORCH)
    sequence_bytes = 3 * element(run.training) * run.training.architecture.hidden
    return pick(is_gathered, sequence_bytes * (1 - 1 / layout.tp), 0.0)


def ffn_gradients(run: Run) -> Activations:
    """Of the feed-forward part: the saved input of its last product is freed by then."""
    work, model = run.training, run.training.architecture
    width = max(model.ffn, model.expert_ffn * model.experts_per_token + model.shared_ffn)
    return Activations(
        sharded=element(work) * width * (2 if model.gated else 1), replicated=2 * element(work) * model.hidden
    )


def attention_gradients(run: Run) -> Activations:
    """Of queries, keys and values; unfused, of the scores before and after the softmax too."""
    work, model = run.training, run.training.architecture
    scores = 0.0 if work.flash_attention else 2 * model.heads * work.seq_len
    return Activations(
        sharded=element(work) * (sum(widths(model)) + scores), replicated=2 * element(work) * model.hidden
    )


def gathered(run: Run) -> Real:
    """ZeRO-3: the largest unit's parameters whole, the next layer's, and the gradient of the largest.

    Units are the layers, the embedding and the head. Under PyTorch's pipeline all parameters stay gathered:
    the gradient of a layer at work only.
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
