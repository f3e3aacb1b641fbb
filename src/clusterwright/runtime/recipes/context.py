"""Context parallelism: each rank has some positions of a sequence and gathers the keys and values of the others.

As in the training of Llama 3 (2407.21783, section 3.3.2): all-gather of keys and values; of 2 n chunks, rank i has the
i-th from either end, which balances the work under a causal mask.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor


class Context:
    """This rank's positions of each sequence, and attention over all of them."""

    def __init__(self, group: Any) -> None:
        self.group, self.size, self.rank = group, dist.get_world_size(group), dist.get_rank(group)

    def places(self, length: int, device: torch.device) -> Tensor:
        """Return the positions of a sequence of this length that this rank has, under context parallelism.

        Raises:
            ValueError: the length does not divide into chunks.
        """
        if length % (2 * self.size):
            raise ValueError(
                f"a sequence of {length} does not divide into 2 chunks for each of {self.size} ranks"
            )
        return self._positions(self.rank, length, device)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *, enable_gqa: bool) -> Tensor:
        """Return causal attention of this rank's queries to the keys of all ranks; tensors of shape (B, H, T, E)."""
        length = q.shape[2] * self.size
        positions = self._positions(self.rank, length, q.device)
        everyone = torch.cat([self._positions(rank, length, q.device) for rank in range(self.size)])
        mask = positions[:, None] >= everyone
        keys, values = (_gather(tensor, self.group) for tensor in (k, v))
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, enable_gqa=enable_gqa)

    def _positions(self, rank: int, length: int, device: torch.device) -> Tensor:
        chunks = torch.arange(length, device=device).chunk(2 * self.size)
        return torch.cat((chunks[rank], chunks[2 * self.size - 1 - rank]))


def _gather(x: Tensor, group: Any) -> Tensor:
    gathered: Tensor = _Gather.apply(x, group)  # type: ignore[no-untyped-call]  # (torch's)
    return gathered


class _Gather(torch.autograd.Function):
    """All-gather along the positions, in rank order; the backward pass sums gradients and returns this rank's."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x.contiguous(), group=group)
        return torch.cat(parts, dim=2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        total = gradient.contiguous()
        dist.all_reduce(total, group=ctx.group)
        parts = total.chunk(dist.get_world_size(ctx.group), dim=2)
        return parts[dist.get_rank(ctx.group)], None
