"""Gradients in 8 bits, both ways. What is rounded away travels with the next gradients, so nothing is lost for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime.gradients.mean import Residual, mean


class Rounded:
    """Its state is this rank's own: what is left of each bucket."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self._group = dist.new_group(dist.get_process_group_ranks(model.process_group))
        self._residuals: dict[int, Residual] = {}

    def state(self) -> dict[str, Any]:
        """All that the next step needs."""
        return {str(index): [residual.numbers, residual.sums] for index, residual in self._residuals.items()}

    def load_state(self, _steps: int, state: Mapping[str, Any] | None) -> None:
        """Go on with this; without it, what was left is lost."""
        self._residuals = {int(index): Residual(*tensors) for index, tensors in (state or {}).items()}

    def add_up(self, index: int, buffer: Tensor) -> None:
        """The mean of this bucket, in place."""
        residual = self._residuals.setdefault(index, Residual())
        buffer.copy_(mean(buffer, self._group, 8, residual))
