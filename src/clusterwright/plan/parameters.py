"""Parameter counts of a model, grouped by how tensor and expert parallelism shard them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture
    from clusterwright.plan.numbers import Real

LORA_RANK = 32  # Megatron-Bridge's default `dim` of LoRA
MAMBA_EXPAND = 2  # inner width over hidden, Mamba-2 (Dao and Gu 2405.21060)
MAMBA_HEAD = 64  # width of one state-space head, same source
MAMBA_STATE = 128  # width of the state, same source
MAMBA_GROUPS = 8  # groups that share B and C, as in NVIDIA's hybrids (Waleffe et al. 2406.07887)
MAMBA_KERNEL = 4  # width of the short convolution


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameter counts of one model; of one layer unless a comment states otherwise."""

    attention: float  # one attention layer, sharded by tp
    dense_ffn: float  # one dense layer, sharded by tp
    expert: float  # one expert of one layer, sharded by ep and etp
    shared: float  # shared experts of one layer, sharded by tp
    router: float  # replicated
    norms: float  # norms and the biases of row-parallel matrices, replicated
    embedding: float  # input embedding (and learned positions), sharded by tp
    head: float  # output matrix; 0 if tied to the embedding
    experts: int
    layers: int
    moe_layers: int
    down: float = 0.0  # MLA's projections into the low rank, replicated
    mamba: float = 0.0  # one state-space mixer, sharded by tp
    positions: float = 0.0  # of the embedding: a learned position table, replicated
    final_norm: float = 0.0  # once in the model, replicated
    mtp: float = (
        0.0  # of all multi-token-prediction layers: the projection of their two inputs, sharded by tp
    )
    experts_per_token: int = 0
    attention_layers: int = -1  # -1: all layers
    mamba_layers: int = 0
    ffn_layers: int = -1  # layers with a feed-forward part, MoE or dense; -1: all
    mtp_layers: int = 0

    @property
    def attentions(self) -> int:
        """Number of layers with attention: all layers unless `attention_layers` is set (0 or more)."""
        return self.layers if self.attention_layers < 0 else self.attention_layers

    @property
    def dense_layers(self) -> int:
        """Number of layers with a dense feed-forward part: those with any feed-forward part, less the MoE layers."""
        return (self.layers if self.ffn_layers < 0 else self.ffn_layers) - self.moe_layers

    @property
    def mtp_layer(self) -> float:
        """Parameters of one multi-token-prediction layer: attention and feed-forward part as in the last layer."""
        ffn = self.expert * self.experts + self.shared + self.router if self.moe_layers else self.dense_ffn
        return self.attention + self.down + self.norms + ffn

    @property
    def total(self) -> float:
        """Number of all parameters of the model."""
        return self._body(self.experts) + self._ends

    @property
    def active(self) -> float:
        """Number of active parameters, which one token uses: of experts only the routed ones, without MTP layers."""
        return self._body(self.experts_per_token) - self.mtp_layers * self.mtp_layer - self.mtp + self._ends

    @property
    def _ends(self) -> float:
        return self.embedding + self.head + self.final_norm

    def _body(self, experts: int) -> float:
        moe = self.expert * experts + self.shared + self.router
        mixers = self.attentions * (self.attention + self.down) + self.mamba_layers * self.mamba
        ffn = self.dense_layers * self.dense_ffn + self.moe_layers * moe
        return mixers + ffn + self.layers * self.norms + self.mtp + self.mtp_layers * self.mtp_layer


@lru_cache(maxsize=1024)
def count(model: Architecture) -> Parameters:
    """Return the number of parameters of each part of a model, computed from its architecture."""
    matrices = 3 if model.gated else 2
    bias = 1 if model.biases else 0
    attention, down = _mla(model) if model.attention == "mla" else (_gqa(model), 0.0)
    ffn_layers, pure = _ffn_layers(model)
    moe = ffn_layers - model.dense_layers if model.experts else 0
    return Parameters(
        attention=attention,
        dense_ffn=_ffn(model, model.ffn, matrices),
        expert=_expert(model, matrices) + bias * model.hidden,
        shared=_ffn(model, model.shared_ffn, matrices) + 2 * model.hidden * model.expert_width,
        router=(model.hidden + bias) * model.experts,
        norms=(1 if pure else 2) * model.hidden * (1 + 2 * bias),
        embedding=(model.vocab + model.learned_positions) * model.hidden,
        head=0 if model.tied else model.vocab * model.hidden,
        experts=model.experts,
        layers=model.layers,
        moe_layers=moe,
        down=down,
        mamba=_mamba(model) if model.mamba_layers else 0.0,
        positions=model.learned_positions * model.hidden,
        final_norm=model.hidden * (1 + bias),
        mtp=model.mtp_layers * (2 * model.hidden * model.hidden + 3 * model.hidden),
        experts_per_token=model.experts_per_token,
        attention_layers=model.attention_layers,
        mamba_layers=model.mamba_layers,
        ffn_layers=ffn_layers,
        mtp_layers=model.mtp_layers,
    )


def padded_vocab(vocab: int, tp: Real = 1, multiple: int = 128) -> Real:
    """Return the vocabulary size padded to a multiple of `multiple` x tp, as Megatron does."""
    unit = multiple * tp
    return -(-vocab // unit) * unit


def _gqa(model: Architecture) -> float:
    queries, shared = model.heads * model.head_dim, 2 * model.kv_heads * model.head_dim
    return model.hidden * (2 * queries + shared) + (queries + shared if model.biases else 0)


def _mla(model: Architecture) -> tuple[float, float]:
    """Return parameters of one latent attention layer (DeepSeek-V2, 2405.04434) as (sharded by tp, replicated)."""
    value = model.v_head_dim or model.head_dim
    query = model.heads * (model.head_dim + model.rope_head_dim)
    up = (model.q_lora_rank or model.hidden) * query
    up += model.kv_lora_rank * model.heads * (model.head_dim + value) + model.heads * value * model.hidden
    low = model.q_lora_rank + model.kv_lora_rank
    return up, model.hidden * (low + model.rope_head_dim) + low


def _ffn(model: Architecture, width: int, matrices: int) -> float:
    inner = (matrices - 1) * width if model.biases else 0
    return matrices * model.hidden * width + inner


def _expert(model: Architecture, matrices: int) -> float:
    """Return the parameters of one expert, which may be narrower than the model; biases only if the model has them."""
    inner = (matrices - 1) * model.expert_ffn if model.biases else 0
    return matrices * (model.expert_width or model.hidden) * model.expert_ffn + inner


def lora(model: Architecture) -> float:
    """Return the parameters of LoRA adapters as a share of the model's.

    The adapters have rank 32, on all four matrices of each layer (2106.09685).
    """
    q, kv = model.heads * model.head_dim, 2 * model.kv_heads * model.head_dim
    wide = model.ffn * (2 if model.gated else 1)
    sides = (model.hidden + q + kv) + (q + model.hidden) + (model.hidden + wide) + (model.ffn + model.hidden)
    return LORA_RANK * sides * model.layers / count(model).total


def mamba_shape(model: Architecture) -> tuple[float, float, float]:
    """Return (inner width, heads, state size) of one Mamba-2 mixer; usual values where the model has none."""
    inner = model.mamba_heads * model.mamba_head_dim or MAMBA_EXPAND * model.hidden
    return inner, model.mamba_heads or inner / MAMBA_HEAD, model.mamba_state or MAMBA_STATE


def _mamba(model: Architecture) -> float:
    inner, heads, state = mamba_shape(model)
    mixed = inner + 2 * MAMBA_GROUPS * state
    project = model.hidden * (inner + mixed + heads) + inner * model.hidden
    return project + mixed * (MAMBA_KERNEL + 1) + 3 * heads + inner


def _ffn_layers(model: Architecture) -> tuple[int, bool]:
    """Return (layers with a feed-forward part, whether each layer has only one part).

    In NVIDIA's hybrids a layer is a mixer or a feed-forward part; in other models it is both.
    """
    if not model.mamba_layers or model.attention_layers < 0:
        return model.layers, False
    ffn_layers = model.layers - model.mamba_layers - model.attention_layers
    return (ffn_layers, True) if ffn_layers > 0 else (model.layers, False)
