"""How many parameters a model has, by the way they are cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.catalog.model import Architecture


@dataclass(frozen=True, slots=True)
class Parameters:
    """Counts of one model."""

    attention: float  # of one layer, cut by tp
    dense_ffn: float  # of one dense layer, cut by tp
    expert: float  # one expert of one layer, cut by ep and etp
    shared: float  # shared experts of one layer, cut by tp
    router: float  # of one layer, replicated
    norms: float  # of one layer, replicated
    embedding: float  # input embedding (and learned positions), cut by tp
    head: float  # output matrix; 0 where it is the embedding
    experts: int
    layers: int
    moe_layers: int

    @property
    def total(self) -> float:
        """All of them."""
        dense = self.layers - self.moe_layers
        moe = self.expert * self.experts + self.shared + self.router
        body = self.layers * (self.attention + self.norms) + dense * self.dense_ffn + self.moe_layers * moe
        return body + self.embedding + self.head


def count(model: Architecture) -> Parameters:
    """Parameters from the shape; checked against models' own published totals in the tests."""
    heads = model.heads * model.head_dim
    attention = model.hidden * (2 * heads + 2 * model.kv_heads * model.head_dim)
    matrices = 3 if model.gated else 2
    moe = model.layers - model.dense_layers if model.experts else 0
    return Parameters(
        attention=attention,
        dense_ffn=matrices * model.hidden * model.ffn,
        expert=matrices * model.hidden * model.expert_ffn,
        shared=matrices * model.hidden * model.shared_ffn,
        router=model.hidden * model.experts,
        norms=2 * model.hidden,
        embedding=(model.vocab + model.learned_positions) * model.hidden,
        head=0 if model.tied else model.vocab * model.hidden,
        experts=model.experts,
        layers=model.layers,
        moe_layers=moe,
    )
