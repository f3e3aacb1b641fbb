"""Model architectures: the shape that parameters, FLOPs and memory follow from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Architecture:
    """A transformer. Widths in elements; 0 where a part is absent."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int  # not always hidden / heads
    ffn: int  # of a dense layer
    vocab: int
    gated: bool = True  # SwiGLU or GeGLU: three matrices in place of two
    tied: bool = False  # the embedding is the output matrix too
    learned_positions: int = 0  # length of a learned position table
    causal: bool = True
    biases: bool = False
    attention: str = "gqa"  # gqa (with mha and mqa as its ends) or mla
    kv_lora_rank: int = 0  # mla
    q_lora_rank: int = 0
    rope_head_dim: int = 0
    v_head_dim: int = 0
    window: int = 0  # sliding-window attention
    window_every: int = 0  # of so many layers one is full attention, the others windowed; 0: all are windowed
    experts: int = 0
    experts_per_token: int = 0
    expert_ffn: int = 0
    shared_ffn: int = 0  # of the shared expert
    dense_layers: int = 0  # leading layers without experts
    mtp_layers: int = 0
    mamba_layers: int = 0  # layers that are state-space mixers instead of attention
    attention_layers: int = -1  # -1: all
    mamba_heads: int = 0  # of one mixer; 0: as many heads of 64 as twice the width holds (Mamba-2)
    mamba_head_dim: int = 0
    mamba_state: int = 0  # width of the state; 0: 128
    expert_width: int = 0  # the width that experts work at, where they are behind a projection; 0: hidden
    source: str = ""
