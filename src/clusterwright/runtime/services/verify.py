"""Silent corruption: hardware that computes or keeps wrong numbers and says nothing.

Now and then, ranks that must hold the same weights compare their sums, and compute the same microbatch and compare
loss and gradients bit by bit. With three or more of them the majority says which one is wrong.
It cannot see what goes wrong on all of them alike, or in a step between two looks that leaves the replicas equal: a
wrong gradient, for one, is summed into all of them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from clusterwright.runtime import codes, seeds, state
from clusterwright.runtime.events import Events
from clusterwright.runtime.group import Group
from clusterwright.runtime.services import bits, names, replicas

POLICIES = ("stop", "continue")
Loss = Callable[[nn.Module, Any], Tensor]


class Verify:
    """Looks every N steps; 0 is never."""

    def __init__(self, joined: Group, log: Events, every: int, policy: str) -> None:
        if policy not in POLICIES:
            raise ValueError(f"on_corruption {policy}: it is {', '.join(POLICIES)}")
        self._group, self._log = joined, log
        self.every, self._policy = every, policy
        self._unsteady = False

    def due(self, step: int) -> bool:
        """Whether this is a step to look at."""
        return bool(self.every and step % self.every == 0 and self._group.world_size > 1)

    def weights(
        self, step: int, models: list[nn.Module], dimensions: Mapping[str, int]
    ) -> codes.Leaving | None:
        """Compare what replicas hold; how to end the training, None to go on."""
        parameters = [each for model in models for each in model.parameters()]
        held = replicas.holders(parameters, self._group.rank, dimensions)
        sums = {ranks: bits.total(tensors) for ranks, tensors in held.items()}
        return self._judge(step, "weights", sums)

    def computing(self, step: int, model: nn.Module, loss_of: Loss, batch: Any) -> codes.Leaving | None:
        """Compute rank 0's microbatch on all ranks and compare; as `weights`. All ranks hold the whole model.

        A model that gives other bits when the same rank computes again cannot be compared: that is said, once.
        """
        inner = names.bare(model)
        if any(hasattr(each, "placements") for each in inner.parameters()):
            raise ValueError("verify compares models that every rank holds whole; this one is sharded")
        if self._unsteady:
            return None
        batch = self._group.share(batch)
        everyone = tuple(range(self._group.world_size))
        first = _compute(inner, loss_of, batch, step)
        if len(set(self._group.gather(first))) == 1:
            return None
        self._unsteady = any(self._group.gather(_compute(inner, loss_of, batch, step) != first))
        if self._unsteady:
            self._log.say(
                "the model computes other bits each time: ranks cannot be compared by what they compute"
            )
            return None
        return self._judge(step, "gradients", {everyone: first})

    def _judge(self, step: int, what: str, sums: Mapping[tuple[int, ...], object]) -> codes.Leaving | None:
        said = self._group.gather((socket.gethostname(), dict(sums)))
        wrong: set[int] = set()
        sure = True
        for ranks in sorted({ranks for _, each in said for ranks in each}):
            found, known = replicas.odd({rank: said[rank][1].get(ranks) for rank in ranks})
            wrong |= set(found)
            sure = sure and known
        if not wrong:
            return None
        odd = sorted(wrong)
        hosts = sorted({said[rank][0] for rank in odd})
        then = self._policy
        self._log.record("corrupt", step=step, what=what, ranks=odd, hosts=hosts, sure=sure, then=then)
        who = f"rank{'s' if len(odd) > 1 else ''} {', '.join(map(str, odd))} on {', '.join(hosts)}"
        words = f"{what} of {who} {'are wrong' if sure else 'differ'} in step {step}"
        self._log.say(words)
        if then != "stop":
            return None
        if sure and self._group.rank in odd:
            return codes.Leaving(codes.CORRUPT_HOST, f"{words}: silent corruption on this host")
        return codes.Leaving(codes.CORRUPT, words)


def _compute(model: nn.Module, loss_of: Loss, batch: Any, seed: int) -> tuple[int, int]:
    """The bits of the loss and of the gradients; nothing in model or random states is other afterwards."""
    random, buffers = state.take(), [(each, each.clone()) for each in model.buffers()]
    gradients = [(each, each.grad) for each in model.parameters()]
    for parameter, _ in gradients:
        parameter.grad = None
    seeds.plant(seed)
    loss = loss_of(model, batch)
    torch.autograd.backward(loss)
    sums = bits.total([loss]), bits.total(each.grad for each, _ in gradients if each.grad is not None)
    for parameter, before in gradients:
        parameter.grad = before
    with torch.no_grad():
        for buffer, before in buffers:
            buffer.copy_(before)
    state.put_back(random)
    return sums
