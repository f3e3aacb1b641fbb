"""What is held for a moment at the fullest instant: logits, a recomputed layer, gathered parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.memory.activations import Kept, attention, dense, element, experts, tokens, widths
from clusterwright.plan.memory.families import FLAT
from clusterwright.plan.memory.stage import vocabulary
from clusterwright.plan.memory.states import engine
from clusterwright.plan.numbers import larger, pick
from clusterwright.plan.parameters import count

if TYPE_CHECKING:
    from clusterwright.plan.memory.stage import Held, Stage
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run


def transients(run: Run, stage: Stage, own: Held) -> Real:
    """The larger of the loss on the last stage and one layer's backward pass; gathered parameters; buckets."""
    return larger(stage.last * loss(run), backward(run)) + gathered(run) + engine(run, own)


def loss(run: Run) -> Real:
    """Logits in the products' precision and in fp32: the loss works in place on the second.

    As Megatron's vocabulary-parallel cross entropy; torch's own keeps one more copy in fp32.
    """
    work, cut = run.training, run.layout
    if work.fused_loss:
        return 0.0
    each = work.logit_bytes or element(work) + (8.0 if run.stack.family in FLAT else 4.0)
    each += 4.0 * work.architecture.mtp_layers
    head = 2 * element(work) * work.architecture.hidden / pick(cut.sequence_parallel > 0, cut.tp, 1)
    return tokens(run) * (each * vocabulary(run) / cut.tp + head)


def backward(run: Run) -> Real:
    """What one layer holds while its backward pass runs, beyond what was kept for it.

    Gradients of its feed-forward part, while all of a recomputed layer is there; or, after that part is
    done and freed, gradients of its attention.
    """
    cut = run.layout
    again, rest = 1.0 * (cut.recompute >= 2), dense(run, ()).on(cut)
    if run.training.architecture.experts:
        rest = larger(rest, experts(run, ()).on(cut))
    mixer = attention(run, ()).on(cut)
    of_ffn = again * (mixer + rest) + ffn_gradients(run).on(cut)
    return tokens(run) * larger(of_ffn, again * mixer + attention_gradients(run).on(cut))


def ffn_gradients(run: Run) -> Kept:
    """Of the feed-forward part: the saved input of its last product is freed by then."""
    work, model = run.training, run.training.architecture
    width = max(model.ffn, model.expert_ffn * model.experts_per_token + model.shared_ffn)
    return Kept(cut=element(work) * width * (2 if model.gated else 1), whole=2 * element(work) * model.hidden)


def attention_gradients(run: Run) -> Kept:
    """Of queries, keys and values; unfused, of the scores before and after the softmax too."""
    work, model = run.training, run.training.architecture
    scores = 0.0 if work.flash_attention else 2 * model.heads * work.seq_len
    return Kept(cut=element(work) * (sum(widths(model)) + scores), whole=2 * element(work) * model.hidden)


def gathered(run: Run) -> Real:
    """ZeRO-3: the largest unit's parameters whole, the next layer's, and the gradient of the largest.

    Units are the layers, the embedding and the head.
    """
    cut, params = run.layout, count(run.training.architecture)
    own = params.attention + params.down + (params.dense_ffn if params.dense_layers else 0)
    moe = params.shared + params.router + params.expert * params.experts / (cut.ep * cut.etp) * cut.tp
    layer = own + moe * (params.moe_layers > 0)
    largest = larger(layer, vocabulary(run) * run.training.architecture.hidden)
    return pick(cut.zero >= 3, element(run.training) * (2 * largest + layer) / cut.tp, 0.0)
