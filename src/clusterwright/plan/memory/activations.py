"""Activations that layers store for the backward pass, in bytes per token.

Counted tensor by tensor as Megatron-Core with Transformer Engine stores them (the dense GELU layer has the
34 bytes per token and hidden element of Korthikanti et al. 2205.05198). `sharded` is always split over tp,
`replicated` only with sequence parallelism. `modules` are recomputed modules, by Megatron-Core's names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.memory.stage import deepspeed
from clusterwright.plan.numbers import pick
from clusterwright.plan.parameters import MAMBA_GROUPS, mamba_shape

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture
    from clusterwright.plan.memory.stage import MemoryStage
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Layout, Run, Training

LOW = ("fp8", "mxfp8", "nvfp4")  # precisions whose matrices save their input in that precision


@dataclass(frozen=True, slots=True)
class Activations:
    """Activation bytes per token of a microbatch, by how parallelism splits them."""

    sharded: Real = 0.0
    replicated: Real = 0.0
    expert: Real = 0.0  # of tokens routed to this GPU's experts

    def __add__(self, other: Activations) -> Activations:
        return Activations(
            self.sharded + other.sharded, self.replicated + other.replicated, self.expert + other.expert
        )

    def __mul__(self, times: Real) -> Activations:
        return Activations(self.sharded * times, self.replicated * times, self.expert * times)

    def on(self, layout: Layout, imbalance: float = 1.0) -> Real:
        """Return bytes per token on one GPU; `imbalance`: tokens of the busiest experts' GPU over the mean."""
        spread = pick(layout.sequence_parallel > 0, layout.tp, 1)
        return self.sharded / layout.tp + self.replicated / spread + self.expert * imbalance


def element(work: Training) -> float:
    """Return the bytes per activation element: 4 in fp32 and tf32, else 2."""
    return 4.0 if work.precision in ("fp32", "tf32") else 2.0


def saved_input(work: Training) -> float:
    """Return the bytes per element of the input that a matrix product saves for backward, scales included."""
    return {"fp8": 1.0, "mxfp8": 1.0 + 1 / 32, "nvfp4": 0.5 + 1 / 16}.get(work.precision, element(work))


def tokens(run: Run) -> Real:
    """Return the tokens of one microbatch on one GPU, after context parallelism and before sequence parallelism."""
    return run.training.seq_len / run.layout.cp * run.layout.micro_batch


def activation_bytes(run: Run, stage: MemoryStage, imbalance: float = 1.0) -> Real:
    """Activation bytes of one microbatch in all layers of a pipeline stage, without what is recomputed.

    `imbalance`: tokens of the busiest experts' GPU over the mean.
    """
    layout = run.layout
    layer_input = border(run) * stage.layers
    some = layer_activations(run, stage, layout.recompute_modules).on(layout, imbalance)
    every = layer_activations(run, stage, ()).on(layout, imbalance)
    bytes_per_token = pick(
        layout.recompute >= 2, layer_input.on(layout), pick(layout.recompute >= 1, some, every)
    )
    return bytes_per_token * tokens(run)


def border(run: Run) -> Activations:
    """Return the activations of one layer under full recomputation: its input.

    Megatron-DeepSpeed with ZeRO-3 partitions it over tp (its `partition_activations`).
    """
    hidden_bytes = element(run.training) * run.training.architecture.hidden
    is_partitioned = deepspeed(run) & (run.layout.zero >= 3) & (run.layout.sequence_parallel < 1)
    return Activations(replicated=hidden_bytes / pick(is_partitioned, run.layout.tp, 1))


def layer_activations(run: Run, stage: MemoryStage, modules: tuple[str, ...]) -> Activations:
    """Return the bytes of activations per token of all layers of a stage, less what recomputing `modules` saves.

    `per-op` among the modules replaces all others.
    """
    if "per-op" in modules:
        return per_op(run) * stage.layers
    total = attention(run, modules) * (stage.attention + stage.mtp) + dense(run, modules) * stage.dense
    if run.training.architecture.mamba_layers:
        total = total + mamba(run) * stage.mamba
    if run.training.architecture.experts:
        total = total + experts(run, modules) * (stage.moe + stage.mtp)
    return total


def per_op(run: Run) -> Activations:
    """Return what one layer stores under torchtitan's per-op checkpointing: attention and every second matrix product.

    Of q, k, v, o and the three products of a gated layer it stores the outputs of q, v, gate and the last.
    """
    work, model = run.training, run.training.architecture
    size = element(work)
    q, _, v = widths(model)
    width = model.ffn + model.experts_per_token * model.expert_ffn if model.experts else model.ffn
    out = model.heads * (model.v_head_dim or model.head_dim)
    return Activations(sharded=size * (q + v + out + width), replicated=2 * size * model.hidden)


def attention(run: Run, modules: tuple[str, ...]) -> Activations:
    """Return the bytes per token that one attention layer stores: norm, projections, core, less recomputed modules."""
    work, model = run.training, run.training.architecture
    size, low = element(work), saved_input(work)
    q, k, v = widths(model)
    norm = 0.0 if "layernorm" in modules else low
    out = size * v + (low * v if work.precision in LOW else 0.0)
    core = 0.0 if "core_attn" in modules else _core(run, q, k, v)
    up = 0.0 if "mla_up_proj" in modules else size * (q + k + v)
    replicated = (size + norm) * model.hidden + (1.0 * model.hidden if work.dropout else 0.0)
    if model.attention == "mla":  # the low-rank projections before and after their norms
        replicated += 2 * size * (model.q_lora_rank + model.kv_lora_rank) + size * model.rope_head_dim
    return Activations(sharded=up + out + core, replicated=replicated)


def widths(model: Architecture) -> tuple[float, float, float]:
    """Return elements per token of (queries, keys, values) of one attention layer."""
    if model.attention == "mla":
        value = model.v_head_dim or model.head_dim
        joined = model.heads * (model.head_dim + model.rope_head_dim)
        return joined, joined, model.heads * value
    shared = model.kv_heads * model.head_dim
    return model.heads * model.head_dim, shared, shared


def _core(run: Run, q: float, k: float, v: float) -> Real:
    """Return the bytes per token that core attention stores besides q, k, v and its output."""
    work, model = run.training, run.training.architecture
    if work.flash_attention:
        return 4.0 * model.heads  # softmax statistics, fp32
    masked = 1.0 + element(work) if work.dropout else 0.0
    # unfused: keys and values are repeated for each head
    repeated = element(work) * (2 * q - k - v) if k < q else 0.0
    return (element(work) + masked) * model.heads * work.seq_len + repeated


def dense(run: Run, modules: tuple[str, ...]) -> Activations:
    """Return the bytes per token that one layer's dense feed-forward part and norm store, less recomputed modules.

    With `mlp` recomputed, the norm's output stays stored as its input.
    """
    work, model = run.training, run.training.architecture
    size, low = element(work), saved_input(work)
    norm = 0.0 if "layernorm" in modules and "mlp" not in modules else low
    mask = 1.0 * model.hidden if work.dropout else 0.0
    inner = 0.0 if "mlp" in modules else _inner(model, work, model.ffn, store_activation=True)
    return Activations(sharded=inner, replicated=(size + norm) * model.hidden + mask)


def _inner(model: Architecture, work: Training, width: float, *, store_activation: bool) -> float:
    input_bytes = element(work) * width * (2 if model.gated else 1)
    return input_bytes + (saved_input(work) * width if store_activation else 0.0)


def experts(run: Run, modules: tuple[str, ...]) -> Activations:
    """Return bytes per token of activations of one layer's MoE part: norm, router, dispatch, experts, shared expert.

    The load of the experts is taken as balanced. Recomputed modules are left out; `moe` leaves out all but the norm.
    """
    work, model, layout = run.training, run.training.architecture, run.layout
    size, low = element(work), saved_input(work)
    mask = 1.0 * model.hidden if work.dropout else 0.0
    norm = 0.0 if "layernorm" in modules and "moe" not in modules else size
    if "moe" in modules:
        return Activations(replicated=(size + norm) * model.hidden + mask)
    routing = 4.0 * 2 * model.experts  # fp32: router scores and probabilities
    inner = _inner(model, work, model.expert_ffn, store_activation="moe_act" not in modules)
    spread = pick(layout.sequence_parallel > 0, layout.tp, 1)
    expert = (
        model.experts_per_token / spread * (inner + low * (model.expert_width or model.hidden) * layout.etp)
    )
    shared = 0.0
    if model.shared_ffn and "shared_experts" not in modules:
        shared = _inner(model, work, model.shared_ffn, store_activation=True)
    expert_output = low * model.expert_width  # sum of the experts' outputs before the projection back
    return Activations(
        sharded=shared,
        replicated=(size + norm) * model.hidden + mask + routing + expert_output,
        expert=expert,
    )


def mamba(run: Run) -> Activations:
    """Return the activations of one Mamba mixer: norm, input projection, and outputs of convolution and scan."""
    work, model = run.training, run.training.architecture
    size = element(work)
    inner, _, state = mamba_shape(model)
    mixed = inner + 2 * MAMBA_GROUPS * state
    return Activations(
        sharded=size * (2 * mixed + 3 * inner), replicated=(size + saved_input(work)) * model.hidden
    )
