"""The config.json of a LLaMA in Hugging Face's format."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

_ROPES = ("default", "linear", "llama3")


@dataclass(frozen=True)
class Config:
    """The fields of a config.json; names and defaults are Hugging Face's."""

    vocab_size: int = 32000
    hidden_size: int = 4096
    intermediate_size: int = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int = 0  # from_dict: default num_attention_heads
    head_dim: int = 0  # from_dict: default hidden_size / num_attention_heads
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    initializer_range: float = 0.02
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    rope_theta: float = 10000.0
    rope: dict[str, Any] = field(default_factory=dict)
    raw_config: dict[str, Any] = field(default_factory=dict)  # the whole file, with fields not used here

    @staticmethod
    def from_dict(raw_config: dict[str, Any]) -> Config:
        """Return the model configuration of a parsed config.json.

        Raises:
            ValueError: another model type, an unsupported feature, or inconsistent sizes.
        """
        kind, activation = raw_config.get("model_type", "llama"), raw_config.get("hidden_act", "silu")
        if kind != "llama" or activation != "silu":
            raise ValueError(f"model_type {kind} with {activation}: this recipe supports llama with silu")
        rope = {**(raw_config.get("rope_scaling") or {}), **(raw_config.get("rope_parameters") or {})}
        rope["rope_type"] = rope.get("rope_type") or rope.get("type") or "default"
        if rope["rope_type"] not in _ROPES:
            raise ValueError(f"rope_type {rope['rope_type']} is not supported, only {', '.join(_ROPES)}")
        field_names = {config_field.name for config_field in fields(Config)} - {"rope", "raw_config"}
        values = {
            name: value for name, value in raw_config.items() if name in field_names and value is not None
        }
        values["num_key_value_heads"] = values.get("num_key_value_heads") or values["num_attention_heads"]
        values["head_dim"] = values.get("head_dim") or values["hidden_size"] // values["num_attention_heads"]
        values["rope_theta"] = float(rope.get("rope_theta") or values.get("rope_theta", 10000.0))
        config = Config(**values, rope=rope, raw_config=raw_config)
        config.check()
        return config

    @staticmethod
    def read(path: Path) -> Config:
        """Return the model configuration of a config.json; raise ValueError with its path if it is invalid."""
        try:
            raw_config = json.loads(path.read_text())
            return Config.from_dict(raw_config)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from error

    def check(self) -> None:
        """Raise ValueError if key-value heads do not divide the heads, or the head dimension is odd."""
        heads, shared = self.num_attention_heads, self.num_key_value_heads
        if heads % shared:
            raise ValueError(f"num_attention_heads {heads} is not a multiple of num_key_value_heads {shared}")
        if self.head_dim % 2:
            raise ValueError(f"head_dim {self.head_dim} is odd, but rotary positions need pairs")
