"""A LLaMA's config.json, as Hugging Face writes it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

_ROPES = ("default", "linear", "llama3")


@dataclass(frozen=True)
class Config:
    """The shape of a model; names and defaults are Hugging Face's."""

    vocab_size: int = 32000
    hidden_size: int = 4096
    intermediate_size: int = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int = 0  # as many as heads
    head_dim: int = 0  # width over heads
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    initializer_range: float = 0.02
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    rope_theta: float = 10000.0
    rope: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)  # the file itself, for what we do not need

    @staticmethod
    def of(told: dict[str, Any]) -> Config:
        """From what a file says.

        Raises:
            ValueError: it is of another kind of model, or one that is not done here.
        """
        kind, activation = told.get("model_type", "llama"), told.get("hidden_act", "silu")
        if kind != "llama" or activation != "silu":
            raise ValueError(f"model_type {kind} with {activation}: this recipe trains llama with silu")
        rope = {**(told.get("rope_scaling") or {}), **(told.get("rope_parameters") or {})}
        rope["rope_type"] = rope.get("rope_type") or rope.get("type") or "default"
        if rope["rope_type"] not in _ROPES:
            raise ValueError(f"rope_type {rope['rope_type']} is not done; there are {', '.join(_ROPES)}")
        known = {one.name for one in fields(Config)} - {"rope", "told"}
        plain = {name: value for name, value in told.items() if name in known and value is not None}
        plain["num_key_value_heads"] = plain.get("num_key_value_heads") or plain["num_attention_heads"]
        plain["head_dim"] = plain.get("head_dim") or plain["hidden_size"] // plain["num_attention_heads"]
        plain["rope_theta"] = float(rope.get("rope_theta") or plain.get("rope_theta", 10000.0))
        made = Config(**plain, rope=rope, told=told)
        made.check()
        return made

    @staticmethod
    def read(path: Path) -> Config:
        """From a file."""
        try:
            told = json.loads(path.read_text())
            return Config.of(told)
        except (ValueError, KeyError, TypeError) as why:
            raise ValueError(f"{path}: {why}") from why

    def check(self) -> None:
        """Sizes fit together."""
        heads, shared = self.num_attention_heads, self.num_key_value_heads
        if heads % shared:
            raise ValueError(f"num_attention_heads {heads} is no multiple of num_key_value_heads {shared}")
        if self.head_dim % 2:
            raise ValueError(f"head_dim {self.head_dim} is odd, and rotary positions turn pairs")
