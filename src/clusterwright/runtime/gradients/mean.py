"""The mean of a long vector over all ranks, sent in 32, 16 or 8 bits per number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import pad

BLOCK = 256  # numbers that share a scale; its 4 bytes add 1.6 %
_MOST = 127  # maximum of a signed byte


@dataclass
class Residual:
    """Rounding errors of a rank's numbers and of the sums that it sends; the next mean adds them (error feedback)."""

    numbers: Tensor | None = None
    sums: Tensor | None = None


def mean(flat: Tensor, group: Any, bits: int, residual: Residual | None = None) -> Tensor:
    """Return the mean over all ranks, bitwise equal on each; `flat` may be overwritten.

    32 and 16 bits (bfloat16) are one all-reduce. With 8 bits each rank averages one share of the vector (all-to-all)
    and sends it to all (all-gather), half the bytes of 16 bits. Both times numbers are int8 with a scale per block,
    the block's maximum / 127. Values that are not finite stay so.
    """
    ranks = dist.get_world_size(group)
    if bits == 8 and ranks > 1:
        return _in_bytes(flat, group, ranks, residual or Residual())
    payload = flat.div_(ranks).to(torch.bfloat16 if bits == 16 else torch.float32)
    dist.all_reduce(payload, group=group)
    return payload.to(flat.dtype)


def _in_bytes(flat: Tensor, group: Any, ranks: int, residual: Residual) -> Tensor:
    length = len(flat)
    padded = pad(flat.float(), (0, -length % (BLOCK * ranks)))
    residual.numbers = _with(residual.numbers, padded)
    share = _unpacked(_exchanged(_packed(residual.numbers), group)).view(ranks, -1).mean(0)
    residual.sums = _with(residual.sums, share)
    packed = _packed(residual.sums)
    shares = [torch.empty_like(packed) for _ in range(ranks)]
    dist.all_gather(shares, packed, group=group)
    return _unpacked(torch.cat(shares)).flatten()[:length]


def _with(residual: Tensor | None, numbers: Tensor) -> Tensor:
    """Return the numbers in blocks plus the residual, in the residual's memory if there is one."""
    blocks = numbers.view(-1, BLOCK)
    return blocks.clone() if residual is None else residual.to(blocks.device).add_(blocks)


def _exchanged(packed: Tensor, group: Any) -> Tensor:
    """Send each rank its share of the packed numbers (all-to-all); return the shares that this rank has received."""
    output = torch.empty_like(packed)
    dist.all_to_all_single(output, packed, group=group)
    return output


def _packed(blocks: Tensor) -> Tensor:
    """Return each block quantized to int8, followed by its scale; the rounding error is left in `blocks`."""
    scales = blocks.abs().amax(1, keepdim=True) / _MOST
    numbers = (blocks / scales.clamp(min=torch.finfo(torch.float32).tiny)).round_()
    packed = torch.cat([numbers.to(torch.int8).view(torch.uint8), scales.view(torch.uint8)], 1)
    blocks.addcmul_(numbers, scales, value=-1)
    if not bool(scales.isfinite().all()):
        blocks.nan_to_num_(0, 0, 0)
    return packed


def _unpacked(packed: Tensor) -> Tensor:
    """Return the numbers of packed int8 blocks with their scales; blocks whose scale is not finite are not finite."""
    numbers, scales = packed[:, :BLOCK].view(torch.int8), packed[:, BLOCK:].contiguous().view(torch.float32)
    return numbers * scales
