"""The bits of tensors as one number, to compare between ranks that must hold the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@torch.no_grad()
def total(tensors: Iterable[Any]) -> int:
    """The sum, modulo 2^64, of all words; each tensor's counts with an odd weight of its own.

    One changed word is always seen; two that change by the same amount in opposite ways are not.
    """
    sums = [_sum(each) * (2 * place + 1) for place, each in enumerate(tensors)]
    return int(torch.stack([each.cpu() for each in sums]).sum()) if sums else 0


def _sum(tensor: Any) -> torch.Tensor:
    local = (tensor.to_local() if hasattr(tensor, "to_local") else tensor).detach()
    if local.element_size() not in _WORDS:  # complex128
        local = torch.view_as_real(local)
    words: torch.Tensor = local.view(_WORDS[local.element_size()])
    if local.is_contiguous() and local.nbytes % 8 == 0 and local.data_ptr() % 8 == 0:
        words = local.view(-1).view(torch.int64)  # several times as fast as narrow ones
    return words.sum(dtype=torch.int64)
