"""PowerSGD (Vogels and others, 1905.13727): low-rank compression of gradients.

A gradient of n x m numbers is a matrix M. Ranks all-reduce P = M Q, of n x rank, make its columns orthonormal, and
all-reduce Q = M' P, of m x rank; the mean is P Q'. What a rank did not send (M - P Q') is added to its next gradient.

Collectives run in the same order on all ranks: the P of each bucket when it is ready, during the backward pass, and
the Q of all buckets at its end. Torch's own hook starts them as others complete, in any order.
Hosts with different CPUs or GPUs may round the last bits differently, and replicas then differ by as much.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime.gradients.allreduce import all_reduce_mean

_WORTH = 2  # minimum compression ratio; other matrices are sent uncompressed (the value of torch's hook)


@dataclass(frozen=True)
class _Matrix:
    """A gradient to compress: its tensor, and in `values` (float32) the gradient plus the residual."""

    name: str
    gradient: Tensor
    values: Tensor


@dataclass(frozen=True)
class _Transfer:
    """A bucket in flight: the P of its matrices and its uncompressed gradients, in one message."""

    buffer: Tensor
    matrices: Sequence[_Matrix]
    uncompressed: Sequence[Tensor]
    message: Tensor
    work: Any
    future: Any


class Power:
    """The PowerSGD comm hook of one model; its state, residuals and the last Q, is local to this rank."""

    def __init__(self, model: DistributedDataParallel, rank: int, warm_up: int) -> None:
        self._group, self._rank, self._warm_up = model.process_group, rank, warm_up
        self._ranks = dist.get_world_size(self._group)
        self._names = {id(parameter): name for name, parameter in model.module.named_parameters()}
        self._steps = 0
        self._residuals: dict[str, Tensor] = {}
        self._directions: dict[str, Tensor] = {}
        self._open: list[_Transfer] = []

    def state(self) -> dict[str, Any]:
        """Return PowerSGD's state for a checkpoint: number of steps, residuals, and the last Q of each gradient."""
        return {"steps": self._steps, "left": dict(self._residuals), "directions": dict(self._directions)}

    def load_state(self, steps: int, state: Mapping[str, Any] | None) -> None:
        """Continue PowerSGD after this many steps with a saved state; without one, unsent gradients are lost."""
        self._steps = state["steps"] if state else steps
        self._residuals = dict(state["left"]) if state else {}
        self._directions = dict(state["directions"]) if state else {}

    def reduce(self, bucket: Any) -> Any:
        """Return a future of a bucket's approximate mean; of the exact mean in the first `warm_up` steps.

        It completes with the last bucket of the step.
        """
        if self._steps < self._warm_up:
            self._steps += bucket.is_last()
            return all_reduce_mean(bucket.buffer(), self._group)
        self._send(bucket)
        if bucket.is_last():
            self._steps += 1
            transfers, self._open = self._open, []
            self._finish(transfers)
            return transfers[-1].future
        return self._open[-1].future

    def _send(self, bucket: Any) -> None:
        """Start the all-reduce of a bucket: of the P of its large gradients (PowerSGD), and of small ones as they are.

        The transfer is added to `_open`.
        """
        matrices, uncompressed = [], []
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients()):
            if _worth(gradient, self._rank):
                matrices.append(self._matrix(self._names[id(parameter)], gradient))
            else:
                uncompressed.append(gradient)
        sketches = [matrix.values @ self._directions[matrix.name] for matrix in matrices]
        message = _flat([*sketches, *uncompressed], bucket.buffer()).div_(self._ranks)
        work = dist.all_reduce(message, group=self._group, async_op=True)
        self._open.append(_Transfer(bucket.buffer(), matrices, uncompressed, message, work, _future(message)))

    def _matrix(self, name: str, gradient: Tensor) -> _Matrix:
        rows = gradient.reshape(len(gradient), -1)
        values = rows.float()  # the gradient's own memory if it is float32
        if name in self._residuals:
            values.add_(_to_device(self._residuals[name], values))
        if name not in self._directions:
            self._directions[name] = _random(name, values.shape[1], self._rank)
        self._directions[name] = _to_device(self._directions[name], values)
        return _Matrix(name, gradient, values)

    def _finish(self, transfers: Sequence[_Transfer]) -> None:
        for transfer in transfers:
            transfer.work.wait()
        if not all(
            bool(transfer.message.isfinite().all()) for transfer in transfers
        ):  # the same on all ranks
            _spoil(transfers)
            return
        matrices = [matrix for transfer in transfers for matrix in transfer.matrices]
        sketches = [sketch for transfer in transfers for sketch in self._received(transfer)]
        columns = [torch.linalg.qr(projection)[0] for projection in sketches]
        for matrix, column in zip(matrices, columns):
            self._directions[matrix.name] = matrix.values.t() @ column
            self._residuals[matrix.name] = matrix.values - column @ self._directions[matrix.name].t()
        self._share([entry.name for entry in matrices], transfers[0].message)
        for matrix, column in zip(matrices, columns):
            mean = column @ self._directions[matrix.name].t()
            matrix.gradient.copy_(mean.view_as(matrix.gradient))
        for transfer in transfers:
            transfer.future.set_result(transfer.buffer)

    def _received(self, transfer: _Transfer) -> list[Tensor]:
        """Return the reduced P of each matrix; copy uncompressed gradients to their tensors."""
        shapes = [(len(matrix.gradient), self._rank) for matrix in transfer.matrices]
        parts = _parts(transfer.message, [*shapes, *(tensor.shape for tensor in transfer.uncompressed)])
        for gradient, part in zip(transfer.uncompressed, parts[len(shapes) :]):
            gradient.copy_(part)
        return parts[: len(shapes)]

    def _share(self, matrices: Sequence[str], like: Tensor) -> None:
        """Replace the Q of these matrices by its mean over all ranks, by one all-reduce; collective."""
        directions = [self._directions[name] for name in matrices]
        message = _flat(directions, like).div_(self._ranks)
        dist.all_reduce(message, group=self._group)
        parts = _parts(message, [direction.shape for direction in directions])
        self._directions.update(zip(matrices, parts))


def _worth(gradient: Tensor, rank: int) -> bool:
    if gradient.dim() < 2:
        return False
    rows, columns = len(gradient), gradient.numel() // len(gradient)
    return (rows + columns) * rank * _WORTH < rows * columns


def _random(name: str, rows: int, rank: int) -> Tensor:
    """Return a (rows, rank) tensor of normal random numbers seeded by `name`, so equal on all ranks."""
    return torch.randn(rows, rank, generator=torch.Generator().manual_seed(zlib.crc32(name.encode())))


def _flat(tensors: Iterable[Tensor], like: Tensor) -> Tensor:
    return torch.cat([torch.empty(0, device=like.device), *(tensor.flatten().float() for tensor in tensors)])


def _parts(flat: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    sizes = [torch.Size(shape).numel() for shape in shapes]
    return [part.view(torch.Size(shape)) for part, shape in zip(torch.split(flat, sizes), shapes)]


def _to_device(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the tensor on the device of `like`: a loaded state is in host memory."""
    return tensor.to(like.device)


def _future(like: Tensor) -> Any:
    return torch.futures.Future(devices=[like.device] if like.is_cuda else [])


def _spoil(transfers: Iterable[_Transfer]) -> None:
    """Set all gradients to NaN and complete the futures with them, without updating residuals."""
    for transfer in transfers:
        transfer.buffer.fill_(float("nan"))
        transfer.future.set_result(transfer.buffer)
