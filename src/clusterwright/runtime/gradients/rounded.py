"""Gradient reduction in 8 bits with error feedback: rounding errors are added to the next gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime.gradients.mean import Residual, mean


class Rounded:
    """The 8-bit reduction of one model; its state, the residual of each bucket, is local to this rank."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self._group = dist.new_group(dist.get_process_group_ranks(model.process_group))
        self._residuals: dict[int, Residual] = {}

    def state(self) -> dict[str, Any]:
        """Return the state of the 8-bit reduction for a checkpoint: the residuals by bucket index."""
        return {str(index): [residual.numbers, residual.sums] for index, residual in self._residuals.items()}

    def load_state(self, _steps: int, state: Mapping[str, Any] | None) -> None:
        """Load a saved state of the 8-bit reduction; without one, residuals are lost."""
        self._residuals = {int(index): Residual(*tensors) for index, tensors in (state or {}).items()}

    def add_up(self, index: int, buffer: Tensor) -> None:
        """Average the buffer of the bucket with this index over all ranks, in place, in 8 bits."""
        residual = self._residuals.setdefault(index, Residual())
        buffer.copy_(mean(buffer, self._group, 8, residual))
