"""The reduction that DistributedDataParallel itself uses."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
from torch import Tensor


def all_reduce_mean(buffer: Tensor, group: Any) -> Any:
    """Start to average the buffer in place over the group of ranks; return a future of the buffer."""
    work = dist.all_reduce(buffer.div_(dist.get_world_size(group)), group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
