"""Text in windows of one length, as a task for the loop: each token is foreseen from those before it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clusterwright.runtime import Run, Sampler
from clusterwright.runtime.recipes.text import Text


class Windows:
    """Text in windows of one length, and how well each next token is foreseen."""

    measures: Sequence[str] = ("validation",)
    alike = True

    def __init__(self, run: Run, model: nn.Module, data: tuple[Text, Text], context: int) -> None:
        self.model, self._context, self._device = model, context, run.device
        self._training, self._validation = data
        self.size, self.validation_size, self.fingerprint = len(data[0]), len(data[1]), data[0].fingerprint

    def batches(self, sampler: Sampler) -> Sampler:
        """Numbers of windows."""
        return sampler

    def weight(self, sampler: Sampler) -> float:
        """The tokens of a step."""
        return sampler.batch * self._context

    def tokens(self, sampler: Sampler) -> int:
        """Each window has one more, which is not foreseen."""
        return sampler.batch * self._context

    def loss(self, model: nn.Module, piece: Sequence[int]) -> Tensor:
        """Over the windows of these numbers."""
        return self._loss(model, self._training, piece)

    def validation(self, passes: list[list[int]]) -> list[list[int]]:
        """Numbers of windows, again."""
        return passes

    def judge(self, model: nn.Module, batch: Sequence[int]) -> Tensor:
        """Tokens, and their losses."""
        loss = self._loss(model, self._validation, batch)
        return torch.stack((torch.full_like(loss, len(batch) * self._context), loss))

    def _loss(self, model: nn.Module, data: Text, numbers: Sequence[int]) -> Tensor:
        windows = data.windows(numbers, self._device)
        loss: Tensor = model(windows[:, :-1], windows[:, 1:])
        return loss
