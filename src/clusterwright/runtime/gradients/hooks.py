"""Applies the job file's `gradients` settings to models: bucket size when wrapped, comm hook when tracked.

The training script needs no change. Its own bucket size or comm hook has precedence.
"""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime.gradients.hosts import HostGroups
from clusterwright.runtime.gradients.power import Power
from clusterwright.runtime.gradients.rounded import Rounded
from clusterwright.runtime.gradients.settings import GradientSettings
from clusterwright.runtime.services import names

# A reduction of several collectives overlaps with the backward pass here. It has its own process group, so no other
# collective comes between its own.


class Lane:
    """A thread that reduces buckets one after another by `add_up(index, buffer)`, in place."""

    def __init__(self, add_up: Callable[[int, Tensor], None]) -> None:
        self._add_up = add_up
        self._waiting: queue.SimpleQueue[tuple[int, Tensor, Any, Any]] = queue.SimpleQueue()
        self._streams: dict[torch.device, Any] = {}
        threading.Thread(target=self._work, name="gradients", daemon=True).start()

    def reduce(self, bucket: Any) -> Any:
        """Queue a bucket of gradients for the lane's thread; return a future of its reduced buffer."""
        buffer = bucket.buffer()
        future: Any = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else [])
        ready = torch.cuda.current_stream(buffer.device).record_event() if buffer.is_cuda else None
        self._waiting.put((bucket.index(), buffer, future, ready))
        return future

    def _work(self) -> None:
        while True:
            index, buffer, future, ready = self._waiting.get()
            try:
                with torch.no_grad(), self._side_stream(buffer, ready):
                    self._add_up(index, buffer)
                    future.set_result(buffer)
            except Exception as error:  # noqa: BLE001 (raised again in the backward pass, by the future)
                future.set_exception(error)
            del buffer, future

    def _side_stream(self, buffer: Tensor, ready: Any) -> Any:
        """Return a context with a separate GPU stream that waits for the bucket's event; on a CPU, a no-op."""
        if ready is None:
            return torch.cuda.stream(None)
        new: Any = torch.cuda.Stream
        stream = self._streams.setdefault(buffer.device, new(buffer.device))
        stream.wait_event(ready)
        buffer.record_stream(stream)
        return torch.cuda.stream(stream)


_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def buckets(settings: GradientSettings) -> None:
    """Set the bucket size of all DistributedDataParallel models created from now on.

    Without a bucket size in the settings nothing changes.
    """
    if settings.bucket_mib:
        original_init = DistributedDataParallel.__init__
        sized: Any = functools.partialmethod(original_init, bucket_cap_mb=settings.bucket_mib)
        DistributedDataParallel.__init__ = sized  # type: ignore[method-assign]  # (for all models of the process)


def attach(item: Any, settings: GradientSettings) -> Power | Rounded | None:
    """Register the comm hook that the settings select on a DistributedDataParallel model; ignore other objects.

    Return the hook if its state must be saved, else None. Hierarchical reduction is attached for CPU models only.
    """
    for model in hookable(item):
        dtype = _DTYPES.get(settings.compress)
        if settings.compress == "power":
            power = Power(model, settings.rank, settings.warm_up)
            model.register_comm_hook(None, lambda _state, bucket, power=power: power.reduce(bucket))
            return power
        if settings.compress == "int8":
            rounded = Rounded(model)
            _in_a_lane(model, rounded.add_up)
            return rounded
        elif settings.hierarchical and model.device_type == "cpu":  # NCCL is hierarchical by itself
            _in_a_lane(model, HostGroups(model, dtype).add_up)
        elif dtype:
            _halve(model, dtype)
    return None


def hookable(item: Any) -> Iterator[DistributedDataParallel]:
    """Yield the DistributedDataParallel wrappers in this object that have no comm hook.

    Torch checks a hook's annotations and rejects strings, so hooks are lambdas, which have none.
    """
    for model in names.layers(item):
        if isinstance(model, DistributedDataParallel) and not model._comm_hooks:  # noqa: SLF001 (no public API)
            yield model


def _in_a_lane(model: DistributedDataParallel, add_up: Callable[[int, torch.Tensor], None]) -> None:
    lane = Lane(add_up)
    model.register_comm_hook(None, lambda _state, bucket: lane.reduce(bucket))


def _halve(model: DistributedDataParallel, dtype: torch.dtype) -> None:
    group = model.process_group
    model.register_comm_hook(None, lambda _state, bucket: _in_16_bits(dtype, group, bucket))


def _in_16_bits(dtype: torch.dtype, group: Any, bucket: Any) -> Any:
    """Start to average a bucket over the group in 16 bits; return a future of its buffer.

    As torch's own hooks, of which that for bf16 requires CUDA.
    """
    buffer = bucket.buffer()
    half = buffer.to(dtype).div_(dist.get_world_size(group))
    reduction = dist.all_reduce(half, group=group, async_op=True).get_future()
    return reduction.then(lambda future: buffer.copy_(future.value()[0]))
