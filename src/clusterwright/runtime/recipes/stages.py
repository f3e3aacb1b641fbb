"""A model's layers dealt out to stages: microbatches go through them one after the other, and gradients come back.

Every rank keeps the whole model by name; what other stages hold is on the device `meta`, where it takes no memory.
So weights and moments have the same names in every layout, and a checkpoint of one is resumed in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from clusterwright.runtime.services import accumulate

SCHEDULES = ("1f1b", "afab")


class SingleStage:
    """No stages: each rank has all layers."""

    is_first = last = True

    def select_layers(self, layers: nn.ModuleList) -> nn.ModuleList:
        """All of them."""
        return layers


SINGLE_STAGE = SingleStage()


class Stage:
    """This rank's stage, and its messages to the one before and the one behind.

    What is to be sent travels together with what is waited for next, as in Megatron-LM: NCCL takes the messages of two
    ranks in order, and if both sent first, both would wait for ever.
    """

    def __init__(self, group: Any, schedule: str) -> None:
        if schedule not in SCHEDULES:
            raise ValueError(f"parallel: schedule: {schedule}: a recipe's is one of {', '.join(SCHEDULES)}")
        self._group, self._schedule = group, schedule
        self.count, self.index = dist.get_world_size(group), dist.get_rank(group)
        self.is_first, self.last = self.index == 0, self.index == self.count - 1
        self._activation: Tensor | None = None
        self._messages: list[dist.P2POp] = []

    def select_layers(self, layers: nn.ModuleList) -> list[nn.Module]:
        """Those of this stage."""
        size = len(layers) // self.count
        return list(layers)[self.index * size : (self.index + 1) * size]

    def receive(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """What the stage before hands on, in the forward pass of a model."""
        activation = self._receive(torch.empty(*shape, device=device), self.index - 1)
        self._activation = activation.requires_grad_(torch.is_grad_enabled())
        return activation

    def send_forward(self, x: Tensor) -> Tensor:
        """To the stage behind. Where gradients are wanted, x comes back; else a loss of nothing."""
        x = x.float()
        self._send(x, self.index + 1)
        if torch.is_grad_enabled():
            return x
        self._flush()
        return x.new_zeros(())

    def add_up(self, model: nn.Module, pieces: Sequence[Any], forward: Callable[[Any], Tensor]) -> None:
        """The gradients of a step; `forward` gives the loss of a microbatch, or what is handed on in its place."""
        pending: dict[int, tuple[Tensor | None, Tensor]] = {}
        for forth, number in order(self._schedule, self.index, self.count, len(pieces)):
            if forth:
                if self.is_first:  # nothing is waited for
                    self._flush()
                out = forward(pieces[number])
                pending[number] = self._activation, out
            else:
                accumulate.send(model, now=number == len(pieces) - 1)
                self._backward(*pending.pop(number))
        self._flush()

    def _backward(self, activation: Tensor | None, out: Tensor) -> None:
        """From the loss, or from what the stage behind says of it."""
        gradient = None if self.last else self._receive(torch.empty_like(out), self.index + 1)
        torch.autograd.backward(out, gradient)
        if activation is not None and activation.grad is not None:
            self._send(activation.grad, self.index - 1)

    def _send(self, x: Tensor, to: int) -> None:
        self._messages.append(self._message(dist.isend, x.detach().contiguous(), to))

    def _receive(self, x: Tensor, sender: int) -> Tensor:
        self._messages.append(self._message(dist.irecv, x, sender))
        self._flush()
        return x

    def _message(self, operation: Any, x: Tensor, peer: int) -> dist.P2POp:
        return dist.P2POp(operation, x, dist.get_global_rank(self._group, peer), self._group)

    def _flush(self) -> None:
        """All messages that wait, at once."""
        messages, self._messages = self._messages, []
        for work in dist.batch_isend_irecv(messages) if messages else ():
            work.wait()


def order(schedule: str, index: int, count: int, pieces: int) -> Iterator[tuple[bool, int]]:
    """The passes of a stage: whether it is one forward, and of which microbatch.

    afab is all forward, then all backward; 1f1b goes back as soon as the last stage has, and so keeps no more
    microbatches than there are stages behind.
    """
    ahead = pieces if schedule == "afab" else min(pieces, count - 1 - index)
    yield from ((True, number) for number in range(ahead))
    for number in range(pieces):
        if number + ahead < pieces:
            yield True, number + ahead
        yield False, number


def deal(model: Any, stage: Stage) -> None:
    """Leave this stage its part of a model; of the rest, names and shapes.

    Raises:
        ValueError: it cannot be dealt out to so many stages.
    """
    begin, layers, end = model.parts()
    if len(layers) % stage.count:
        few = f", which is more than there are layers: {len(layers)}" if stage.count > len(layers) else ""
        raise ValueError(f"parallel: pipeline {stage.count}{few or f' does not divide {len(layers)} layers'}")
    if {*_weights(begin)} & {*_weights(end)}:
        raise ValueError(
            "parallel: pipeline: the embedding is the output matrix, too (tie_word_embeddings),"
            " and the first and the last stage cannot share it; leave pipeline out"
        )
    stage_layers = stage.select_layers(layers)
    other_layers = [layer for layer in layers if layer not in stage_layers]
    for module in (*other_layers, *(() if stage.is_first else begin), *(() if stage.last else end)):
        module.to("meta")
    model.stage = stage


def elsewhere(module: nn.Module) -> bool:
    """Whether another stage holds it."""
    return any(parameter.is_meta for parameter in module.parameters())


def _weights(modules: Sequence[nn.Module]) -> list[nn.Parameter]:
    return [parameter for module in modules for parameter in module.parameters()]
