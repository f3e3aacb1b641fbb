"""FLOPs of a transformer, counted matrix by matrix; one multiply-add counts as two.

Every function returns forward FLOPs per token of a sequence of `seq_len`; training takes three times that (one
matrix product forward, two backward). Norms, softmax and other element-wise operations are not counted, as in
the published conventions (Narayanan et al. 2104.04473, appendix; PaLM 2204.02311, appendix B).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.plan import parameters

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture


@dataclass(frozen=True, slots=True)
class Mix:
    """Number of layers with each part. A layer of a hybrid has one part only: Mamba mixer, attention or FFN."""

    attention: float
    dense_ffn: float
    moe: float
    mamba: float


@cache
def mix(model: Architecture) -> Mix:
    """Count the layers of a model by part; each multi-token-prediction layer counts as one more last layer."""
    count = parameters.count(model)
    extra = model.mtp_layers
    return Mix(
        attention=count.attentions + extra,
        dense_ffn=count.dense_layers + (0 if count.moe_layers else extra),
        moe=count.moe_layers + (extra if count.moe_layers else 0),
        mamba=count.mamba_layers,
    )


def attention_matrices(model: Architecture) -> float:
    """Return the FLOPs per token of the query, key, value and output projections of one attention layer."""
    if model.attention == "mla":
        query, key_value, output = latent_widths(model)
        inner = model.q_lora_rank * query if model.q_lora_rank else 0
        entry = model.hidden * (model.q_lora_rank or query)
        shared = model.hidden * (model.kv_lora_rank + model.rope_head_dim)
        return 2 * (entry + inner + shared + model.kv_lora_rank * key_value + output * model.hidden)
    width = model.heads * model.head_dim
    return 2 * model.hidden * (2 * width + 2 * model.kv_heads * model.head_dim)


def latent_widths(model: Architecture) -> tuple[float, float, float]:
    """Return the widths, over all heads, of (queries, keys plus values, attention output) of latent attention (MLA)."""
    value = model.v_head_dim or model.head_dim
    query = model.heads * (model.head_dim + model.rope_head_dim)
    return query, model.heads * (model.head_dim + value), model.heads * value


def attended(model: Architecture, seq_len: float, *, window: int = 0) -> float:
    """Mean number of tokens that a query attends to: all, or half of them under a causal mask.

    `window`: sliding-window size of a causal model; 0, or at least `seq_len`, for none; ignored if the model is not
    causal.
    """
    if not model.causal:
        return seq_len
    if 0 < window < seq_len:
        return window - window * window / (2 * seq_len)
    return seq_len / 2


def mean_attended(model: Architecture, seq_len: float) -> float:
    """Mean number of tokens that a query attends to, averaged over layers with and without a sliding window."""
    full = attended(model, seq_len)
    if not model.window:
        return full
    narrow = attended(model, seq_len, window=model.window)
    share = 1 / model.window_every if model.window_every else 0
    return share * full + (1 - share) * narrow


def core_widths(model: Architecture) -> tuple[float, float]:
    """Return the widths, over all heads, of core attention's two products: QK^T, then scores times values.

    They differ only with latent attention (MLA).
    """
    if model.attention == "mla":
        query, _, output = latent_widths(model)
        return query, output
    return model.heads * model.head_dim, model.heads * model.head_dim


def attention_core(model: Architecture, seq_len: float) -> float:
    """Return FLOPs per token of core attention (QK^T and scores times values) in one layer; a causal mask halves it."""
    return 2 * sum(core_widths(model)) * mean_attended(model, seq_len)


def ffn(model: Architecture, width: float) -> float:
    """Return the FLOPs per token of one feed-forward block with intermediate size `width`."""
    return 2 * (3 if model.gated else 2) * model.hidden * width


def moe(model: Architecture) -> float:
    """Return the FLOPs per token of one MoE layer: router, the experts a token is routed to, and the shared expert."""
    narrow = model.expert_width / model.hidden if model.expert_width else 1
    routed = model.experts_per_token * ffn(model, model.expert_ffn) * narrow
    projections = 4 * model.hidden * model.expert_width  # into the experts' width and back
    return routed + projections + ffn(model, model.shared_ffn) + 2 * model.hidden * model.experts


def mamba_widths(model: Architecture) -> tuple[float, float]:
    """Return (width of a Mamba-2 mixer's input projection, inner width); the former: 2 inner, group states, heads."""
    inner, heads, state = parameters.mamba_shape(model)
    return 2 * inner + 2 * parameters.MAMBA_GROUPS * state + heads, inner


def mamba(model: Architecture) -> float:
    """Return the FLOPs per token of one Mamba-2 mixer: input and output projections, and the scan over its states."""
    entry, inner = mamba_widths(model)
    return 2 * model.hidden * (entry + inner) + 6 * inner * parameters.mamba_shape(model)[2]


def head(model: Architecture) -> float:
    """Return FLOPs per token of the output projection to the vocabulary, once more per multi-token-prediction layer."""
    return 2 * model.hidden * model.vocab * (1 + model.mtp_layers)


def forward(model: Architecture, seq_len: float) -> float:
    """FLOPs of a forward pass through the whole model, per token, at this sequence length."""
    parts = mix(model)
    return (
        parts.attention * (attention_matrices(model) + attention_core(model, seq_len))
        + parts.dense_ffn * ffn(model, model.ffn)
        + parts.moe * moe(model)
        + parts.mamba * mamba(model)
        + head(model)
    )


def training(model: Architecture, seq_len: float) -> float:
    """Return model FLOPs per token of training: forward plus backward (twice forward); recomputation is not counted."""
    return 3 * forward(model, seq_len)
