"""PowerSGD (Vogels and others, 1905.13727): of each gradient, its share in a few directions travels.

A gradient of n x m numbers is taken as a matrix M. Ranks add up P = M Q, of n x rank, make its columns orthonormal, and
add up Q = M' P, of m x rank; the mean is P Q'. What a rank did not send (M - P Q') is added to its next gradient.

Collectives are in one order on all ranks: the P of each bucket when it is ready, beneath the backward pass, and the
Q of all of them at the end of it. Torch's own hook starts them as others end, which is any order.
Hosts with other processors may round the last bits otherwise, and replicas then part by as much.
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

from clusterwright.runtime.gradients.plain import as_it_is

_WORTH = 2  # a matrix is sent whole where a sketch of it is not half as large: as torch's hook has it


@dataclass(frozen=True)
class _Matrix:
    """A gradient that is sketched: where it lies, and in `whole`, of 32 bits, with what was left of those before."""

    name: str
    gradient: Tensor
    whole: Tensor


@dataclass(frozen=True)
class _Sent:
    """A bucket under way: the sketches of its matrices, and what is sent as it is, in one message."""

    buffer: Tensor
    matrices: Sequence[_Matrix]
    rest: Sequence[Tensor]
    message: Tensor
    work: Any
    future: Any


class Power:
    """Its state is this rank's own: what it has not sent yet, and the directions that it begins with."""

    def __init__(self, model: DistributedDataParallel, rank: int, warm_up: int) -> None:
        self._group, self._rank, self._warm_up = model.process_group, rank, warm_up
        self._ranks = dist.get_world_size(self._group)
        self._names = {id(each): name for name, each in model.module.named_parameters()}
        self._steps = 0
        self._left: dict[str, Tensor] = {}
        self._directions: dict[str, Tensor] = {}
        self._open: list[_Sent] = []

    def state(self) -> dict[str, Any]:
        """All that the next step needs."""
        return {"steps": self._steps, "left": dict(self._left), "directions": dict(self._directions)}

    def put_back(self, steps: int, state: Mapping[str, Any] | None) -> None:
        """Go on after so many steps; without the state, what was not sent is lost."""
        self._steps = state["steps"] if state else steps
        self._left = dict(state["left"]) if state else {}
        self._directions = dict(state["directions"]) if state else {}

    def reduce(self, bucket: Any) -> Any:
        """The bucket's mean, or what stands for it; the first steps as they are."""
        if self._steps < self._warm_up:
            self._steps += bucket.is_last()
            return as_it_is(bucket.buffer(), self._group)
        self._send(bucket)
        if bucket.is_last():
            self._steps += 1
            sent, self._open = self._open, []
            self._finish(sent)
            return sent[-1].future
        return self._open[-1].future

    def _send(self, bucket: Any) -> None:
        """The P of its matrices is under way, with what is sent as it is."""
        matrices, rest = [], []
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients()):
            if _worth(gradient, self._rank):
                matrices.append(self._matrix(self._names[id(parameter)], gradient))
            else:
                rest.append(gradient)
        sketches = [each.whole @ self._directions[each.name] for each in matrices]
        message = _flat([*sketches, *rest], bucket.buffer()).div_(self._ranks)
        work = dist.all_reduce(message, group=self._group, async_op=True)
        self._open.append(_Sent(bucket.buffer(), matrices, rest, message, work, _future(message)))

    def _matrix(self, name: str, gradient: Tensor) -> _Matrix:
        rows = gradient.reshape(len(gradient), -1)
        whole = rows.float()  # the gradient itself, where that has 32 bits
        if name in self._left:
            whole.add_(_there(self._left[name], whole))
        if name not in self._directions:
            self._directions[name] = _random(name, whole.shape[1], self._rank)
        self._directions[name] = _there(self._directions[name], whole)
        return _Matrix(name, gradient, whole)

    def _finish(self, sent: Sequence[_Sent]) -> None:
        for each in sent:
            each.work.wait()
        if not all(bool(each.message.isfinite().all()) for each in sent):  # the same on all ranks
            _spoil(sent)
            return
        matrices = [matrix for each in sent for matrix in each.matrices]
        sketches = [sketch for each in sent for sketch in self._received(each)]
        columns = [torch.linalg.qr(each)[0] for each in sketches]
        for matrix, column in zip(matrices, columns):
            self._directions[matrix.name] = matrix.whole.t() @ column
            self._left[matrix.name] = matrix.whole - column @ self._directions[matrix.name].t()
        self._share([each.name for each in matrices], sent[0].message)
        for matrix, column in zip(matrices, columns):
            mean = column @ self._directions[matrix.name].t()
            matrix.gradient.copy_(mean.view_as(matrix.gradient))
        for each in sent:
            each.future.set_result(each.buffer)

    def _received(self, sent: _Sent) -> list[Tensor]:
        """The sketches; what was sent as it is goes where it belongs."""
        shapes = [(len(each.gradient), self._rank) for each in sent.matrices]
        parts = _parts(sent.message, [*shapes, *(each.shape for each in sent.rest)])
        for gradient, part in zip(sent.rest, parts[len(shapes) :]):
            gradient.copy_(part)
        return parts[: len(shapes)]

    def _share(self, matrices: Sequence[str], like: Tensor) -> None:
        """The mean of their directions, in one message."""
        held = [self._directions[name] for name in matrices]
        message = _flat(held, like).div_(self._ranks)
        dist.all_reduce(message, group=self._group)
        parts = _parts(message, [each.shape for each in held])
        self._directions.update(zip(matrices, parts))


def _worth(gradient: Tensor, rank: int) -> bool:
    if gradient.dim() < 2:
        return False
    rows, columns = len(gradient), gradient.numel() // len(gradient)
    return (rows + columns) * rank * _WORTH < rows * columns


def _random(name: str, rows: int, rank: int) -> Tensor:
    """The same on all ranks."""
    return torch.randn(rows, rank, generator=torch.Generator().manual_seed(zlib.crc32(name.encode())))


def _flat(tensors: Iterable[Tensor], like: Tensor) -> Tensor:
    return torch.cat([torch.empty(0, device=like.device), *(each.flatten().float() for each in tensors)])


def _parts(flat: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    sizes = [torch.Size(shape).numel() for shape in shapes]
    return [part.view(torch.Size(shape)) for part, shape in zip(torch.split(flat, sizes), shapes)]


def _there(tensor: Tensor, like: Tensor) -> Tensor:
    """On the device of the other: a state that was loaded is in the host's memory."""
    return tensor.to(like.device)


def _future(like: Tensor) -> Any:
    return torch.futures.Future(devices=[like.device] if like.is_cuda else [])


def _spoil(sent: Iterable[_Sent]) -> None:
    """Nobody takes these gradients for good ones, and nothing of them is kept for the next step."""
    for each in sent:
        each.buffer.fill_(float("nan"))
        each.future.set_result(each.buffer)
