"""Rotary positions (RoFormer): pairs of numbers in a head turn by an angle that grows with the position."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from clusterwright.runtime.recipes.models.llama_config import Config

Angles = tuple[Tensor, Tensor]  # cosines and sines, each of positions x half a head


def rotate(x: Tensor, angles: Angles) -> Tensor:
    """Turn x (B, H, T, E); number i pairs with number i + E/2, as in Hugging Face's weights."""
    cosine, sine = (each.to(x.dtype) for each in angles)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cosine - b * sine, b * cosine + a * sine), dim=-1)


def speeds(config: Config) -> Tensor:
    """How fast each pair turns, in radians a position."""
    size, rope = config.head_dim, config.rope
    plain = 1.0 / config.rope_theta ** (torch.arange(0, size, 2, dtype=torch.float32) / size)
    kind = rope.get("rope_type", "default")
    if kind == "linear":
        return plain / float(rope["factor"])
    return _as_llama_3(plain, rope) if kind == "llama3" else plain


def _as_llama_3(plain: Tensor, rope: dict[str, float]) -> Tensor:
    """Slow pairs turn slower by `factor`, fast ones as before, those between in between (Llama 3.1)."""
    factor, low, high = rope["factor"], rope["low_freq_factor"], rope["high_freq_factor"]
    rounds = rope["original_max_position_embeddings"] * plain / (2 * math.pi)
    smooth = ((rounds - low) / (high - low)).clamp(0, 1)
    return (1 - smooth) * plain / factor + smooth * plain
