"""FLOPs of a transformer, counted matrix by matrix; a multiply and an add are two.

Everything is per token of a sequence of `seq_len`, forward only; training is three times that (one matrix
product forward, two backward). Norms, softmax and other element-wise work are not counted, as in the
published conventions (Narayanan et al. 2104.04473, appendix; PaLM 2204.02311, appendix B).
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
    """How many layers of a model hold which part. A hybrid's layer is one part only: mixer, attention or FFN."""

    attention: float
    dense_ffn: float
    moe: float
    mamba: float


@cache
def mix(model: Architecture) -> Mix:
    """The parts of all layers; multi-token-prediction layers count as whole layers, like the last one."""
    count = parameters.count(model)
    extra = model.mtp_layers
    return Mix(
        attention=count.attentions + extra,
        dense_ffn=count.dense_layers + (0 if count.moe_layers else extra),
        moe=count.moe_layers + (extra if count.moe_layers else 0),
        mamba=count.mamba_layers,
    )


def attention_matrices(model: Architecture) -> float:
    """Query, key, value and output products of one attention layer, per token."""
    if model.attention == "mla":
        query, key_value, output = latent_widths(model)
        inner = model.q_lora_rank * query if model.q_lora_rank else 0
        entry = model.hidden * (model.q_lora_rank or query)
        shared = model.hidden * (model.kv_lora_rank + model.rope_head_dim)
        return 2 * (entry + inner + shared + model.kv_lora_rank * key_value + output * model.hidden)
    width = model.heads * model.head_dim
    return 2 * model.hidden * (2 * width + 2 * model.kv_heads * model.head_dim)


def latent_widths(model: Architecture) -> tuple[float, float, float]:
    """Multi-head latent attention: widths of all queries, of all keys and values, of the output of attention."""
    value = model.v_head_dim or model.head_dim
    query = model.heads * (model.head_dim + model.rope_head_dim)
    return query, model.heads * (model.head_dim + value), model.heads * value


def attended(model: Architecture, seq_len: float, *, window: int = 0) -> float:
    """Tokens that one query looks at, on average over the sequence."""
    if not model.causal:
        return seq_len
    if 0 < window < seq_len:
        return window - window * window / (2 * seq_len)
    return seq_len / 2


def mean_attended(model: Architecture, seq_len: float) -> float:
    """The same, on average over layers with and without a window."""
    full = attended(model, seq_len)
    if not model.window:
        return full
    narrow = attended(model, seq_len, window=model.window)
    share = 1 / model.window_every if model.window_every else 0
    return share * full + (1 - share) * narrow


def core_widths(model: Architecture) -> tuple[float, float]:
    """Widths of the two products of attention's core, all heads: scores, then values."""
    if model.attention == "mla":
        query, _, output = latent_widths(model)
        return query, output
    return model.heads * model.head_dim, model.heads * model.head_dim


def attention_core(model: Architecture, seq_len: float) -> float:
    """Scores and weighted values of one attention layer, per token; the causal half only."""
    return 2 * sum(core_widths(model)) * mean_attended(model, seq_len)


def ffn(model: Architecture, width: float) -> float:
    """One feed-forward block of that width, per token."""
    return 2 * (3 if model.gated else 2) * model.hidden * width


def moe(model: Architecture) -> float:
    """Router, the experts one token visits, and the shared expert."""
    narrow = model.expert_width / model.hidden if model.expert_width else 1
    routed = model.experts_per_token * ffn(model, model.expert_ffn) * narrow
    projections = 4 * model.hidden * model.expert_width  # into the experts' own width and back
    return routed + projections + ffn(model, model.shared_ffn) + 2 * model.hidden * model.experts


def mamba_widths(model: Architecture) -> tuple[float, float]:
    """Widths of a Mamba-2 mixer: of its product in (two inner, states of all groups, heads), and of its inner part."""
    inner, heads, state = parameters.mamba_shape(model)
    return 2 * inner + 2 * parameters.MAMBA_GROUPS * state + heads, inner


def mamba(model: Architecture) -> float:
    """One Mamba-2 mixer, per token: the products in and out, and the scan's over its states."""
    entry, inner = mamba_widths(model)
    return 2 * model.hidden * (entry + inner) + 6 * inner * parameters.mamba_shape(model)[2]


def head(model: Architecture) -> float:
    """The product with the vocabulary, per token, once per prediction depth."""
    return 2 * model.hidden * model.vocab * (1 + model.mtp_layers)


def forward(model: Architecture, seq_len: float) -> float:
    """The whole model, per token."""
    parts = mix(model)
    return (
        parts.attention * (attention_matrices(model) + attention_core(model, seq_len))
        + parts.dense_ffn * ffn(model, model.ffn)
        + parts.moe * moe(model)
        + parts.mamba * mamba(model)
        + head(model)
    )


def training(model: Architecture, seq_len: float) -> float:
    """Model FLOPs of one token of training: forward and twice that backward; recomputation is not counted."""
    return 3 * forward(model, seq_len)
