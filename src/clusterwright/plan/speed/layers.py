"""Time of one layer for one microbatch on one GPU; depends only on how the layer is sharded."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from clusterwright.plan import flops
from clusterwright.plan.numbers import larger, pick
from clusterwright.plan.run import Recompute
from clusterwright.plan.speed import attention, links, matmul

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run
    from clusterwright.plan.speed.coefficients import Rates


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds by cause; communication is the exposed part."""

    compute: Real = 0.0  # matrix products and core attention
    memory_bound: Real = 0.0
    tensor: Real = 0.0
    context: Real = 0.0
    expert: Real = 0.0

    @property
    def total(self) -> Real:
        """Sum of all parts in seconds."""
        return self.compute + self.memory_bound + self.tensor + self.context + self.expert

    def __add__(self, other: Parts) -> Parts:
        """Add two times part by part."""
        return Parts(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def __mul__(self, times: Real) -> Parts:
        """Multiply every part by a number."""
        return Parts(*(getattr(self, part.name) * times for part in fields(self)))


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Seconds of one layer for one microbatch: the mean over a model's kinds of layers."""

    forward: Parts
    backward: Parts
    recompute: Real  # of the forward pass, in the backward pass

    @property
    def total(self) -> Real:
        """Seconds of the layer's forward pass, backward pass and recomputation."""
        return self.forward.total + self.backward.total + self.recompute


def layer(run: Run, rates: Rates) -> LayerTime:
    """Predict the forward, backward and recompute seconds of the mean layer of a run, for one microbatch on one GPU.

    Formulas only: no loop over GPUs, layers or microbatches.
    """
    model = run.training.architecture
    parts = flops.mix(model)
    layers = model.layers + model.mtp_layers
    core = core_parts(run, rates)
    mixer = attention_block(run, rates)
    kinds = [
        (parts.attention, (mixer[0] + core[0], mixer[1] + core[1])),
        (parts.dense_ffn, feed_forward(run, rates, model.ffn)),
        (parts.moe, block(run, rates) if parts.moe else None),
        (parts.mamba, mamba_block(run, rates) if parts.mamba else None),
    ]
    forward, backward = Parts(), Parts()
    for count, times in kinds:
        if count and times is not None:
            forward, backward = forward + times[0] * (count / layers), backward + times[1] * (count / layers)
    return LayerTime(forward, backward, recomputed(run, forward, core[0] * (parts.attention / layers)))


def recomputed(run: Run, forward: Parts, core: Parts) -> Real:
    """Return the seconds of recomputation: the forward pass if full, core attention if selective and not fused."""
    selective: Real = 0.0 if run.training.flash_attention else core.compute + core.memory_bound
    how = run.layout.recompute
    return pick(how == Recompute.FULL, forward.total, pick(how == Recompute.SELECTIVE, selective, 0.0))


def tokens(run: Run) -> Real:
    """Return the tokens of one microbatch on one GPU, before sharding by tensor parallelism."""
    return run.layout.micro_batch * run.training.seq_len / run.layout.cp


def core_parts(run: Run, rates: Rates) -> tuple[Parts, Parts]:
    """Return (forward, backward) time of core attention, with the exchange of keys and values between cp ranks."""
    model, layout = run.training.architecture, run.layout
    heads = model.heads / layout.tp
    forward, traffic = attention.forward(run.training, tokens(run), heads, rates=rates)
    backward, more = attention.backward(run.training, tokens(run), heads, rates=rates)
    kv_heads = larger(model.kv_heads / layout.tp, 1)
    size = 4 * tokens(run) * kv_heads * model.head_dim * layout.cp  # keys and values of all cp ranks, 16 bits
    ring = pick(layout.cp > 1, links.gather(size, layout.cp, run.machine, layout.tp), 0.0)
    return (
        Parts(forward, traffic, context=exposed(ring, forward, rates.context_exposed)),
        Parts(backward, more, context=exposed(2 * ring, backward, rates.context_exposed)),
    )


def exposed(comm: Real, beneath: Real, share: float) -> Real:
    """Return the exposed seconds of communication, those that no compute hides.

    They are at least a share of the communication, or its excess over the compute that it overlaps.
    """
    return larger(share * comm, comm - beneath)


def attention_block(run: Run, rates: Rates) -> tuple[Parts, Parts]:
    """Return (forward, backward) time of an attention block without its core: norm, projections and residual."""
    model, layout = run.training.architecture, run.layout
    if model.attention == "mla":
        shapes = latent_shapes(run)
        inner = 4 * sum(shape[0] for shape in shapes)
    else:
        query = model.heads * model.head_dim / layout.tp
        key_value = 2 * larger(model.kv_heads / layout.tp, 1) * model.head_dim
        shapes = [(query + key_value, model.hidden), (model.hidden, query)]
        inner = 4 * (query + key_value)  # rotary positions or biases: read and written once, 16 bits
    return linear_block(run, rates, shapes, inner)


def latent_shapes(run: Run) -> list[tuple[Real, Real]]:
    """Return (output width, input width) of each product of latent attention (MLA) on one GPU.

    Heads are divided by tp, the down projections are not; without a query rank the query is one product.
    """
    model, tp = run.training.architecture, run.layout.tp
    query, key_value, output = flops.latent_widths(model)
    shapes: list[tuple[Real, Real]] = [
        (model.kv_lora_rank + model.rope_head_dim, model.hidden),
        (model.hidden, output / tp),
    ]
    if model.kv_lora_rank:
        shapes.append((key_value / tp, model.kv_lora_rank))
    if model.q_lora_rank:
        return [*shapes, (model.q_lora_rank, model.hidden), (query / tp, model.q_lora_rank)]
    return [*shapes, (query / tp, model.hidden)]


def feed_forward(run: Run, rates: Rates, width: float) -> tuple[Parts, Parts]:
    """Return (forward, backward) time of a dense feed-forward block: norm, products, activation and residual."""
    model, layout = run.training.architecture, run.layout
    gates = 2 if model.gated else 1
    inner = (2 * gates + 2) * width / layout.tp  # the activation reads one or two, writes one, 16 bits each
    return linear_block(
        run, rates, [(gates * width / layout.tp, model.hidden), (model.hidden, width / layout.tp)], inner
    )


def mamba_block(run: Run, rates: Rates) -> tuple[Parts, Parts]:
    """Return (forward, backward) time of a Mamba block; convolution and scan count as memory traffic."""
    model, tp = run.training.architecture, run.layout.tp
    entry, inner = flops.mamba_widths(model)
    wide = inner / tp
    return linear_block(run, rates, [(entry / tp, model.hidden), (model.hidden, wide)], MAMBA_TRAFFIC * wide)


# Bytes per inner element that convolution and scan move: input, gate, states in chunks, output; 16 and 32 bits.
MAMBA_TRAFFIC = 24


def linear_block(run: Run, rates: Rates, shapes: list[tuple[Real, Real]], inner: Real) -> tuple[Parts, Parts]:
    """Return the (forward, backward) time of a block of linear layers: norm, products and residual.

    `shapes`: (output width, input width) of the products; `inner`: bytes per token of operations between them. Norm and
    residual move 10 bytes per hidden element forward (read, write; read twice, write), twice that backward; with tensor
    parallelism but without sequence parallelism every GPU repeats them.
    """
    layout, m = run.layout, tokens(run)
    parted = pick(layout.sequence_parallel > 0, layout.tp, 1)
    outer = (10 + (1 if run.training.dropout else 0)) * run.training.architecture.hidden / parted
    forward = sum((matmul.seconds(m, n, k, rates=rates) for n, k in shapes), 0.0)
    backward = sum((matmul.backward(m, n, k, rates=rates) for n, k in shapes), 0.0)
    weights = sum((n * k for n, k in shapes), 0.0)
    moved = m * (outer + inner) * rates.elementwise
    # the gradient is read and written once per microbatch
    accumulated = weights * rates.trained * 2 * run.training.gradient_bytes
    comm = tensor_exchange(run, rates)
    forth = Parts(forward, seconds(moved + casts(m, shapes, rates, 0), rates) + LAUNCHES * rates.launch, comm)
    moved_back = 2 * moved + accumulated + casts(m, shapes, rates, 1)
    back = Parts(backward, seconds(moved_back, rates) + 2 * LAUNCHES * rates.launch, comm)
    return forth, back


LAUNCHES = 5  # kernels of a block besides its products: norm, bias or rotation, activation, dropout, residual


def casts(m: Real, shapes: list[tuple[Real, Real]], rates: Rates, side: int) -> Real:
    """Return the bytes of casting the input (side 1: the output's gradient) to low precision.

    A cast reads 16 bits and writes both layouts.

    0 in 16 or more bits.
    """
    if not rates.quantize:
        return 0.0
    width = sum((shape[1 - side] for shape in shapes), 0.0)
    return m * width * (2 + 2 * rates.bits / 8) * rates.quantize


def seconds(size_bytes: Real, rates: Rates) -> Real:
    """Return the seconds of moving `size_bytes` between GPU memory and processors."""
    return size_bytes / rates.bytes_per_s


def tensor_exchange(run: Run, rates: Rates) -> Real:
    """Return exposed seconds of one block's tensor-parallel communication: an all-reduce, or a gather and a scatter."""
    layout = run.layout
    size = 2 * tokens(run) * run.training.architecture.hidden
    comm = links.all_reduce(size, layout.tp, run.machine)
    return pick(layout.tp > 1, comm * rates.tensor_exposed, 0.0)


KERNELS = 12  # of routing and permutation: scores, top-k, sort, gather, scatter, counts; forward


def block(run: Run, rates: Rates) -> tuple[Parts, Parts]:
    """Return (forward, backward) time of one MoE block: routed experts, shared expert and projections."""
    routed = routed_block(run, rates)
    for width in (run.training.architecture.shared_ffn, run.training.architecture.expert_width):
        if width:
            ffn = feed_forward(run, rates, width)
            routed = routed[0] + ffn[0], routed[1] + ffn[1]
    return routed


def routed_block(run: Run, rates: Rates) -> tuple[Parts, Parts]:
    """Return (forward, backward) time of the routed experts, determined by the GPU with the busiest experts."""
    model, layout = run.training.architecture, run.layout
    local_tokens = tokens(run) / pick(layout.sequence_parallel > 0, layout.tp, 1)
    visits = (
        local_tokens
        * model.experts_per_token
        * layout.etp
        * (1 + (rates.imbalance - 1) * (1 - 1 / layout.ep))
    )
    local = model.experts / layout.ep
    gates = 2 if model.gated else 1
    width = model.expert_ffn / layout.etp
    outer = model.expert_width or model.hidden
    shapes: list[tuple[Real, Real]] = [(gates * width, outer), (outer, width)]
    rows = visits / local
    forward = sum((matmul.seconds(rows, n, k, rates=rates, groups=local) for n, k in shapes), 0.0)
    backward = sum((matmul.backward(rows, n, k, rates=rates, groups=local) for n, k in shapes), 0.0)
    moved = traffic(run, rates, local_tokens, visits, width) + casts(visits, shapes, rates, 0)
    weights = sum((n * k for n, k in shapes), 0.0) * local * rates.trained
    added = weights * 2 * run.training.gradient_bytes * rates.accumulate
    comm = exchange(run, rates, local_tokens)
    kernels = KERNELS * rates.launch
    return (
        Parts(forward, seconds(moved, rates) + kernels, expert=comm),
        Parts(backward, seconds(2 * moved + added, rates) + 2 * kernels, expert=comm),
    )


def traffic(run: Run, rates: Rates, local_tokens: Real, visits: Real, width: Real) -> Real:
    """Return the bytes of memory that an MoE block moves besides its products.

    Those of norm and residual, of the permutation and its inverse, and of the activation function.
    """
    model = run.training.architecture
    gates = 2 if model.gated else 1
    outer = 10 * model.hidden * local_tokens * rates.elementwise
    permuted = 8 * (model.expert_width or model.hidden) * visits * rates.expert_traffic
    return outer + permuted + (2 * gates + 2) * width * visits * rates.elementwise


def exchange(run: Run, rates: Rates, local_tokens: Real) -> Real:
    """Return the seconds of expert-parallel communication of a layer that no compute hides.

    It is dispatch, combine, and gathers of expert tensor parallelism; 0 without expert parallelism.
    """
    model, layout = run.training.architecture, run.layout
    size = 2 * local_tokens * (model.expert_width or model.hidden) * model.experts_per_token
    exchange_s = 2 * links.all_to_all(size * sent_once(run, rates), layout.ep, run.machine)
    gathered = 2 * links.gather(size * layout.etp, layout.etp, run.machine)
    comm = pick(layout.ep > 1, exchange_s, 0.0) + pick(layout.etp > 1, gathered, 0.0)
    return larger(comm * rates.expert_exposed, 0.0)


def sent_once(run: Run, rates: Rates) -> Real:
    """Return share of token copies that is sent if each node gets a token at most once; experts are chosen at random.

    1 within one NVLink domain, or if the software does not deduplicate.
    """
    if not rates.deduplicated:
        return 1.0
    nodes = larger(run.layout.ep / run.machine.nvlink_domain, 1)
    visits = run.training.architecture.experts_per_token
    return pick(nodes > 1, nodes * (1 - (1 - 1 / nodes) ** visits) / visits, 1.0)
