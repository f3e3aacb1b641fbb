"""Which tokens are hidden from a model that has to find them, as in BERT (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from clusterwright.runtime import sample_seed

_SHARE = 0.15
_MASKED, _OTHER = 0.8, 0.9  # up to here the sign of the mask; up to there another token; then the right one


class Mask:
    """Hides as many tokens in each window, others in each epoch; which ones follows from the window's number alone."""

    def __init__(self, context: int, tokens: int, sign: int, seed: int) -> None:
        self.count = max(1, round(_SHARE * context))
        self._tokens, self._sign, self._seed = tokens, sign, seed

    def hide(self, windows: Tensor, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The windows (B, T) with tokens hidden, and where (B, K)."""
        hidden, places = windows.clone(), torch.empty(len(windows), self.count, dtype=torch.int64)
        for row, number in enumerate(numbers):
            draw = torch.Generator().manual_seed(sample_seed(number, self._seed))
            places[row] = torch.randperm(windows.shape[1], generator=draw)[: self.count]
            odds = torch.rand(self.count, generator=draw)
            others = torch.randint(self._tokens, (self.count,), generator=draw)
            stays = windows[row, places[row]]
            wrong = torch.where(odds < _MASKED, torch.tensor(self._sign), others)
            hidden[row, places[row]] = torch.where(odds < _OTHER, wrong, stays)
        return hidden, places
