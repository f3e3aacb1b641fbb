"""Pipeline parallelism: a model's layers split into stages, which pass on activations and gradients.

Each rank has the whole model by name; the layers of other stages are on the device `meta`, which takes no memory.
So weights and optimizer state have the same names in every layout, and a checkpoint can be resumed in another.
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
    """The stage without pipeline parallelism: it has all layers."""

    is_first = last = True

    def select_layers(self, layers: nn.ModuleList) -> nn.ModuleList:
        """Return all layers: without pipeline parallelism the only stage has all."""
        return layers


SINGLE_STAGE = SingleStage()


class Stage:
    """This rank's pipeline stage and its messages to its two neighbors.

    Sends are batched with the next receive, as in Megatron-LM: NCCL processes messages of two ranks in order, so if
    both sent first, they would deadlock.
    """

    def __init__(self, group: Any, schedule: str) -> None:
        if schedule not in SCHEDULES:
            raise ValueError(f"parallel: schedule: {schedule}: recipes support {', '.join(SCHEDULES)}")
        self._group, self._schedule = group, schedule
        self.count, self.index = dist.get_world_size(group), dist.get_rank(group)
        self.is_first, self.last = self.index == 0, self.index == self.count - 1
        self._activation: Tensor | None = None
        self._messages: list[dist.P2POp] = []

    def select_layers(self, layers: nn.ModuleList) -> list[nn.Module]:
        """Return the layers of this rank's pipeline stage: an equal share of consecutive ones."""
        size = len(layers) // self.count
        return list(layers)[self.index * size : (self.index + 1) * size]

    def receive(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """Wait for the activation, of this shape, of the previous pipeline stage and return it.

        The model's forward pass calls this.
        """
        activation = self._receive(torch.empty(*shape, device=device), self.index - 1)
        self._activation = activation.requires_grad_(torch.is_grad_enabled())
        return activation

    def send_forward(self, x: Tensor) -> Tensor:
        """Send an activation to the next pipeline stage in fp32.

        Return it in training, a zero loss without gradients in evaluation.
        """
        x = x.float()
        self._send(x, self.index + 1)
        if torch.is_grad_enabled():
            return x
        self._flush()
        return x.new_zeros(())

    def add_up(self, model: nn.Module, pieces: Sequence[Any], forward: Callable[[Any], Tensor]) -> None:
        """Accumulate the gradients of a step over its microbatches `pieces`, by the pipeline's schedule.

        `forward` returns a microbatch's loss, or the activation it has sent.
        """
        pending: dict[int, tuple[Tensor | None, Tensor]] = {}
        for forth, number in order(self._schedule, self.index, self.count, len(pieces)):
            if forth:
                if self.is_first:  # receives nothing, so flush here
                    self._flush()
                out = forward(pieces[number])
                pending[number] = self._activation, out
            else:
                accumulate.send(model, now=number == len(pieces) - 1)
                self._backward(*pending.pop(number))
        self._flush()

    def _backward(self, activation: Tensor | None, out: Tensor) -> None:
        """Backpropagate a microbatch from the loss, or from the gradient that the next stage sends.

        The gradient of the activation is sent to the previous stage.
        """
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
        """Exchange all queued messages with the neighbor stages in one batch, and wait for them."""
        messages, self._messages = self._messages, []
        for work in dist.batch_isend_irecv(messages) if messages else ():
            work.wait()


def order(schedule: str, index: int, count: int, pieces: int) -> Iterator[tuple[bool, int]]:
    """Yield the passes of a pipeline stage: True for a forward pass, else False, and the microbatch's index.

    afab: all forward passes, then all backward. 1f1b: each backward pass as early as possible, so that a stage stores
    no more microbatches than there are stages from it on.
    """
    ahead = pieces if schedule == "afab" else min(pieces, count - 1 - index)
    yield from ((True, number) for number in range(ahead))
    for number in range(pieces):
        if number + ahead < pieces:
            yield True, number + ahead
        yield False, number


def deal(model: Any, stage: Stage) -> None:
    """Move the modules of all other pipeline stages to the device `meta`, and set the model's `stage`.

    Raises:
        ValueError: the number of stages does not divide the layers, or first and last stage share a weight.
    """
    begin, layers, end = model.parts()
    if len(layers) % stage.count:
        few = f" exceeds the number of layers, {len(layers)}" if stage.count > len(layers) else ""
        raise ValueError(f"parallel: pipeline {stage.count}{few or f' does not divide {len(layers)} layers'}")
    if {*_weights(begin)} & {*_weights(end)}:
        raise ValueError(
            "parallel: pipeline: the first and the last stage cannot share the embedding (tie_word_embeddings);"
            " fix: remove pipeline"
        )
    stage_layers = stage.select_layers(layers)
    other_layers = [layer for layer in layers if layer not in stage_layers]
    for module in (*other_layers, *(() if stage.is_first else begin), *(() if stage.last else end)):
        module.to("meta")
    model.stage = stage


def elsewhere(module: nn.Module) -> bool:
    """Return True if another pipeline stage holds this module: a parameter of it is on the device `meta`."""
    return any(parameter.is_meta for parameter in module.parameters())


def _weights(modules: Sequence[nn.Module]) -> list[nn.Parameter]:
    return [parameter for module in modules for parameter in module.parameters()]
