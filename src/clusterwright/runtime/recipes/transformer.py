"""A small decoder-only transformer over bytes.

Shapes: B samples, T positions, D width, H heads, V = 256 bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from clusterwright.runtime.recipes.stages import SINGLE_STAGE

VOCABULARY = 256  # each byte is a token: no tokenizer needed


@dataclass(frozen=True)
class Shape:
    """The size of the model."""

    context: int
    width: int
    layers: int
    heads: int
    dropout: float


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query_key_value = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return causal self-attention over the positions of x (B, T, D)."""
        samples, positions, width = x.shape
        heads = self.query_key_value(x).view(samples, positions, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(samples, positions, width))
        return out


class Block(nn.Module):
    """A layer: attention, then a feed-forward network, each with a residual connection."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.before_attention = nn.RMSNorm(shape.width)
        self.attention = Attention(shape)
        self.before_network = nn.RMSNorm(shape.width)
        self.up = nn.Linear(shape.width, 4 * shape.width, bias=False)
        self.down = nn.Linear(4 * shape.width, shape.width, bias=False)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (B, T, D) after attention and the feed-forward network, each with a residual connection."""
        x = x + self.dropout(self.attention(self.before_attention(x)))
        out: Tensor = x + self.dropout(self.down(F.gelu(self.up(self.before_network(x)))))
        return out


class Transformer(nn.Module):
    """The model: takes bytes and their successors, returns the loss."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        if shape.width % shape.heads:
            raise ValueError(f"width {shape.width} is not a multiple of heads {shape.heads}")
        self.stage: Any = SINGLE_STAGE  # this rank's stage under pipeline parallelism
        self.bytes = nn.Embedding(VOCABULARY, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        self.out = nn.Linear(shape.width, VOCABULARY, bias=False)
        self._initialize(shape.layers)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy summed over the targets (B, T).

        A pipeline stage before the last returns the activation it has sent.
        """
        x = self._through(tokens)
        if not self.stage.last:
            output: Tensor = self.stage.send_forward(x)
            return output
        scores = self.out(self.norm(x)).float()
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="sum")

    def parts(self) -> tuple[list[nn.Module], nn.ModuleList, list[nn.Module]]:
        """Return the modules of the first pipeline stage, the layers to split, and the modules of the last stage."""
        return [self.bytes, self.positions], self.blocks, [self.norm, self.out]

    def _through(self, tokens: Tensor) -> Tensor:
        """Return the output of this stage's layers for tokens (B, T), or for what the previous stage sends."""
        x: Tensor
        if self.stage.is_first:
            x = self.bytes(tokens) + self.positions.weight[: tokens.shape[1]]
        else:
            x = self.stage.receive((*tokens.shape, self.bytes.embedding_dim), tokens.device)
        for block in self.stage.select_layers(self.blocks):
            x = block(x)
        return x

    def _initialize(self, layers: int) -> None:
        """Initialize the weights as GPT-2 (section 2.3): projections into the residual are scaled.

        By 1/sqrt(2 `layers`); vectors are unchanged.
        """
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                adds = name.endswith(("attention.out.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if adds else 0.02)
