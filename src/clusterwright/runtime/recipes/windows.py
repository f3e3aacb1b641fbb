"""Next-token prediction on fixed-length windows of text, as a task of the training loop."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clusterwright.runtime import Run, Sampler
from clusterwright.runtime.recipes.text import Text


class Windows:
    """A `Task` of next-token prediction; its metric `validation` is the mean loss per token."""

    measures: Sequence[str] = ("validation",)
    alike = True

    def __init__(self, run: Run, model: nn.Module, data: tuple[Text, Text], context: int) -> None:
        self.model, self._context, self._device = model, context, run.device
        self._training, self._validation = data
        self.size, self.validation_size, self.fingerprint = len(data[0]), len(data[1]), data[0].fingerprint

    def batches(self, sampler: Sampler) -> Sampler:
        """Return the sampler: batches are indexes of windows."""
        return sampler

    def weight(self, sampler: Sampler) -> float:
        """Return the number of predicted tokens in a step, over all ranks."""
        return sampler.batch * self._context

    def tokens(self, sampler: Sampler) -> int:
        """Return the number of input tokens in a step, over all ranks."""
        return sampler.batch * self._context

    def loss(self, model: nn.Module, piece: Sequence[int]) -> Tensor:
        """Return the cross-entropy of these windows, summed over their tokens."""
        return self._loss(model, self._training, piece)

    def validation(self, passes: list[list[int]]) -> list[list[int]]:
        """Return these lists of indexes, which are the batches of validation windows, unchanged."""
        return passes

    def judge(self, model: nn.Module, batch: Sequence[int]) -> Tensor:
        """Return the number of tokens of these validation windows and their summed loss."""
        loss = self._loss(model, self._validation, batch)
        return torch.stack((torch.full_like(loss, len(batch) * self._context), loss))

    def _loss(self, model: nn.Module, data: Text, numbers: Sequence[int]) -> Tensor:
        windows = data.windows(numbers, self._device)
        loss: Tensor = model(windows[:, :-1], windows[:, 1:])
        return loss
