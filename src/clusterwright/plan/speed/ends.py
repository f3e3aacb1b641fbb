"""Seconds of what stands before and after the layers: embedding, output product, loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.speed import layers, matmul

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run
    from clusterwright.plan.speed.coefficients import Rates

LOSS_TRAFFIC = 22  # bytes per logit: written and read in 16 bits, in 32 for the softmax and its gradient
EMBEDDING_TRAFFIC = 12  # bytes per element of hidden width: read, written, gradient added in 32 bits


@dataclass(frozen=True, slots=True)
class Ends:
    """For one microbatch: the first stage's and the last stage's own work."""

    embedding: Real
    head: Real  # products
    loss: Real  # memory traffic of logits, softmax and their gradients

    @property
    def last(self) -> Real:
        """What the last stage has more to do than others."""
        return self.head + self.loss


def ends(run: Run, rates: Rates) -> Ends:
    """Forward and backward of one microbatch; the vocabulary is cut over the tensor ranks, its product in 16 bits."""
    model, layout = run.training.architecture, run.layout
    depths = 1 + model.mtp_layers
    m, width = layers.tokens(run), model.vocab / layout.tp
    product = matmul.seconds(m, width, model.hidden, rates=rates, half=True)
    product = product + matmul.backward(m, width, model.hidden, rates=rates, half=True)
    loss = layers.seconds(LOSS_TRAFFIC * m * width, rates)
    embedding = layers.seconds(EMBEDDING_TRAFFIC * m * model.hidden, rates)
    return Ends(embedding, product * depths, loss * depths)
