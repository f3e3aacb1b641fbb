"""Time before and after the layers: embedding, output projection, loss."""

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
    """Seconds per microbatch of the extra work on the first and last pipeline stage."""

    embedding: Real
    head: Real  # output projection
    loss: Real  # memory traffic of logits, softmax and their gradients

    @property
    def last(self) -> Real:
        """Extra seconds per microbatch of the last pipeline stage: output projection and loss."""
        return self.head + self.loss


def ends(run: Run, rates: Rates) -> Ends:
    """Predict seconds per microbatch of embedding, output projection and loss, forward and backward, on one GPU."""
    model, layout = run.training.architecture, run.layout
    depths = 1 + model.mtp_layers
    m, width = layers.tokens(run), model.vocab / layout.tp
    product = matmul.seconds(m, width, model.hidden, rates=rates, half=True)
    product = product + matmul.backward(m, width, model.hidden, rates=rates, half=True)
    loss = layers.seconds(LOSS_TRAFFIC * m * width, rates)
    embedding = layers.seconds(EMBEDDING_TRAFFIC * m * model.hidden, rates)
    return Ends(embedding, product * depths, loss * depths)
