"""A bucket as DistributedDataParallel itself adds it up."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
from torch import Tensor


def all_reduce_mean(buffer: Tensor, group: Any) -> Any:
    """The mean over the group, when it is there."""
    work = dist.all_reduce(buffer.div_(dist.get_world_size(group)), group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
