"""LLaMA: RMSNorm before each part, rotary positions, grouped queries, SwiGLU. Names are those of Hugging Face.

Shapes: B samples, T positions, D width, H heads of E each, V vocabulary.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clusterwright.runtime.recipes.models.llama_config import Config
from clusterwright.runtime.recipes.stages import SINGLE_STAGE

Angles = tuple[Tensor, Tensor]  # cosines and sines, each of positions x half a head


def rotate(x: Tensor, angles: Angles) -> Tensor:
    """Return x (B, H, T, E) with rotary positions; element i pairs with i + E/2, as in Hugging Face's weights."""
    cosine, sine = (angle.to(x.dtype) for angle in angles)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cosine - b * sine, b * cosine + a * sine), dim=-1)


def speeds(config: Config) -> Tensor:
    """Return the rotary frequency of each pair, in radians per position, scaled as rope type `linear` or `llama3` says.

    Any other type is unscaled.
    """
    size, rope = config.head_dim, config.rope
    frequencies = 1.0 / config.rope_theta ** (torch.arange(0, size, 2, dtype=torch.float32) / size)
    kind = rope.get("rope_type", "default")
    if kind == "linear":
        return frequencies / float(rope["factor"])
    return _as_llama_3(frequencies, rope) if kind == "llama3" else frequencies


def _as_llama_3(frequencies: Tensor, rope: dict[str, float]) -> Tensor:
    """Return rotary frequencies scaled as in Llama 3.1: low ones by 1/`factor`, high ones not, between smoothly."""
    factor, low, high = rope["factor"], rope["low_freq_factor"], rope["high_freq_factor"]
    rounds = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    smooth = ((rounds - low) / (high - low)).clamp(0, 1)
    return (1 - smooth) * frequencies / factor + smooth * frequencies


IGNORED = -100  # a target that is not in the loss


class Attention(nn.Module):
    """Causal grouped-query attention."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.size, bias = config.head_dim, config.attention_bias
        wide, narrow = config.num_attention_heads * self.size, config.num_key_value_heads * self.size
        self.q_proj = nn.Linear(config.hidden_size, wide, bias=bias)
        self.k_proj = nn.Linear(config.hidden_size, narrow, bias=bias)
        self.v_proj = nn.Linear(config.hidden_size, narrow, bias=bias)
        self.o_proj = nn.Linear(wide, config.hidden_size, bias=bias)
        self.grouped = wide != narrow
        self.context: Any = None  # gathers keys and values under context parallelism

    def forward(self, x: Tensor, angles: Angles) -> Tensor:
        """Return causal self-attention over the positions of x (B, T, D), with rotary positions by `angles`."""
        # a rank of a tensor group has only some heads: infer their number from the projection
        q, k, v = (
            projection(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(q, angles), rotate(k, angles)
        if self.context is None:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.grouped)
        else:
            mixed = self.context.attend(q, k, v, enable_gqa=self.grouped)
        out: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return out


class LlamaNetwork(nn.Module):
    """The SwiGLU feed-forward network."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, inner, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.gate_proj = nn.Linear(width, inner, bias=bias)
        self.up_proj = nn.Linear(width, inner, bias=bias)
        self.down_proj = nn.Linear(inner, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the feed-forward network's output for each position of x (B, T, D)."""
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Layer(nn.Module):
    """A layer: attention, then the network, each with a residual connection."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = LlamaNetwork(config)

    def forward(self, x: Tensor, angles: Angles) -> Tensor:
        """Return x (B, T, D) after attention and the feed-forward network, each with a residual connection."""
        x = x + self.self_attn(self.input_layernorm(x), angles)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class Body(nn.Module):
    """The model without its output head."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, tokens: Tensor, angles: Angles, stage: Any, multiple: int) -> Tensor:
        """Return the hidden states of tokens (B, T) after all layers, or those of a pipeline stage.

        A later stage receives its input, of which this rank has T / `multiple` positions under sequence parallelism.
        """
        samples, positions = tokens.shape
        x: Tensor
        if stage.is_first:
            x = self.embed_tokens(tokens)
        else:
            x = stage.receive(
                (samples, positions // multiple, self.embed_tokens.embedding_dim), tokens.device
            )
        for layer in stage.select_layers(self.layers):
            x = layer(x, angles)
        return self.norm(x) if stage.last else x


class Llama(nn.Module):
    """The model: takes tokens and targets, returns the loss."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.context: Any = None  # set under context parallelism
        self.stage: Any = SINGLE_STAGE  # this rank's stage under pipeline parallelism
        self.multiple = 1  # ranks that share positions (sequence parallel in a tensor group)
        self.model = Body(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self._initialize()
        self.tie()

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy summed over targets (B, T) that are not `IGNORED`.

        Under context parallelism it covers this rank's targets. A pipeline stage before the last returns the
        activation it has sent.
        """
        places = self._places(tokens.shape[1], tokens.device)
        x = self._through(tokens[:, places], places)
        if not self.stage.last:
            output: Tensor = self.stage.send_forward(x)
            return output
        scores = self.lm_head(x).float()
        aims = targets[:, places].flatten()
        return F.cross_entropy(scores.flatten(0, 1), aims, ignore_index=IGNORED, reduction="sum")

    def scores(self, tokens: Tensor, places: Tensor | None = None) -> Tensor:
        """Return next-token logits (B, T, V) for tokens (B, T).

        `places` are the tokens' positions in the sequence; default: 0 to T - 1.
        """
        if places is None:
            places = torch.arange(tokens.shape[1], device=tokens.device)
        scores: Tensor = self.lm_head(self._through(tokens, places))
        return scores

    def parts(self) -> tuple[list[nn.Module], nn.ModuleList, list[nn.Module]]:
        """Return the modules of the first pipeline stage, the layers to split, and the modules of the last stage."""
        return [self.model.embed_tokens], self.model.layers, [self.model.norm, self.lm_head]

    def parallelize(self, mesh: Any) -> None:
        """Apply tensor and context parallelism: the dimensions `tp` and `cp` of the mesh.

        Raises:
            ValueError: the tensor group does not divide the model.
        """
        from clusterwright.runtime.recipes.models import llama_parallel

        llama_parallel.parallelize(self, mesh)

    def tie(self) -> None:
        """Use the embedding as the output matrix if the configuration ties them."""
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.model.embed_tokens.weight

    def _through(self, tokens: Tensor, places: Tensor) -> Tensor:
        turns = places.float()[:, None] * speeds(self.config).to(tokens.device)
        x: Tensor = self.model(tokens, (turns.cos(), turns.sin()), self.stage, self.multiple)
        return x

    def _places(self, length: int, device: torch.device) -> Tensor:
        positions = (
            self.context.places(length, device) if self.context else torch.arange(length, device=device)
        )
        if len(positions) % self.multiple:
            raise ValueError(
                f"{len(positions)} positions do not divide over a tensor group of {self.multiple}"
            )
        return positions

    def _initialize(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=self.config.initializer_range)
