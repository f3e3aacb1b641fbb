"""BERT with its masked-language-modeling head (1810.04805). Names are those of Hugging Face's BertForMaskedLM.

Shapes: B samples, T positions, D width, K masked positions per sample, V vocabulary.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    """The fields of a config.json; defaults are BERT-base's."""

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    hidden_dropout_prob: float = 0.1
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    raw_config: dict[str, Any] = field(default_factory=dict)  # the whole file, with fields not used here

    @staticmethod
    def read(path: Path) -> Config:
        """Return the model configuration of a config.json; missing fields have BERT's defaults.

        Unknown fields are ignored but stay in `raw_config`.

        Raises:
            ValueError: another model type or activation, or inconsistent sizes.
        """
        raw_config = json.loads(path.read_text())
        kind, activation = raw_config.get("model_type", "bert"), raw_config.get("hidden_act", "gelu")
        if kind != "bert" or activation != "gelu":
            raise ValueError(
                f"{path}: model_type {kind} with {activation}: this recipe supports bert with gelu"
            )
        field_names = {config_field.name for config_field in fields(Config)} - {"raw_config"}
        config = Config(
            **{name: value for name, value in raw_config.items() if name in field_names},
            raw_config=raw_config,
        )
        if config.hidden_size % config.num_attention_heads:
            sizes = f"hidden_size {config.hidden_size}, num_attention_heads {config.num_attention_heads}"
            raise ValueError(f"{path}: {sizes}: the first must be a multiple of the second")
        return config


class Embeddings(nn.Module):
    """The sum of word, position and token-type embeddings."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, width)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the embeddings of tokens (B, T), all of token type 0."""
        x = self.word_embeddings(tokens) + self.position_embeddings.weight[: tokens.shape[1]]
        out: Tensor = self.dropout(self.LayerNorm(x + self.token_type_embeddings.weight[0]))
        return out


class Added(nn.Module):
    """A linear layer with residual connection and layer norm."""

    def __init__(self, inputs: int, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        """Return the normalized sum of the projection of x and the residual."""
        out: Tensor = self.LayerNorm(self.dropout(self.dense(x)) + residual)
        return out


class Heads(nn.Module):
    """Bidirectional self-attention."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """Return bidirectional self-attention over the positions of x (B, T, D)."""
        parts = (self.query, self.key, self.value)
        q, k, v = (projection(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for projection in parts)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class Layer(nn.Module):
    """A layer: attention, then a feed-forward network."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        attention = {"self": Heads(config), "output": Added(config.hidden_size, config)}
        self.attention = nn.ModuleDict(attention)
        inner = nn.Linear(config.hidden_size, config.intermediate_size)
        self.intermediate = nn.ModuleDict({"dense": inner})
        self.output = Added(config.intermediate_size, config)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (B, T, D) after attention and the feed-forward network, each with residual and layer norm."""
        x = self.attention["output"](self.attention["self"](x), x)
        out: Tensor = self.output(F.gelu(self.intermediate["dense"](x)), x)
        return out


class Head(nn.Module):
    """The output head for masked positions; its matrix is the embedding."""

    def __init__(self, config: Config, embedding_weight: Any) -> None:
        super().__init__()
        width = config.hidden_size
        norm = nn.LayerNorm(width, config.layer_norm_eps)
        self.transform = nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": norm})
        self.decoder = nn.Linear(width, config.vocab_size)
        self.decoder.weight = embedding_weight
        nn.init.zeros_(self.decoder.bias)
        self.bias = self.decoder.bias

    def forward(self, x: Tensor) -> Tensor:
        """Return logits over the vocabulary for hidden states x (B, K, D)."""
        out: Tensor = self.decoder(self.transform["LayerNorm"](F.gelu(self.transform["dense"](x))))
        return out


class Bert(nn.Module):
    """The model: takes tokens with some masked, returns logits at the masked positions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        embeddings = Embeddings(config)
        self.bert = nn.ModuleDict({"embeddings": embeddings, "encoder": nn.ModuleDict({"layer": layers})})
        self.cls = nn.ModuleDict({"predictions": Head(config, embeddings.word_embeddings.weight)})
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=config.initializer_range)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens: Tensor, places: Tensor) -> Tensor:
        """Return logits (B, K, V) at the positions `places` (B, K) of tokens (B, T)."""
        x = self.bert["embeddings"](tokens)
        for layer in self.bert.get_submodule("encoder.layer").children():
            x = layer(x)
        chosen = torch.gather(x, 1, places[:, :, None].expand(-1, -1, x.shape[-1]))
        scores: Tensor = self.cls["predictions"](chosen)
        return scores
