"""Silent corruption: hardware that computes or keeps wrong numbers and says nothing.

Now and then, ranks that must hold the same weights compare their sums, and compute the same microbatch and compare
loss and gradients bit by bit. With three or more of them the majority says which one is wrong.
It cannot see what goes wrong on all of them alike, or in a step between two looks that leaves the replicas equal: a
wrong gradient, for one, is summed into all of them.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from clusterwright.runtime import codes, seeds, state
from clusterwright.runtime.events import Events
from clusterwright.runtime.group import Group
from clusterwright.runtime.services import names

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@torch.no_grad()
def total(tensors: Iterable[Any]) -> int:
    """The sum, modulo 2^64, of all words; each tensor's counts with an odd weight of its own.

    One changed word is always seen; two that change by the same amount in opposite ways are not.
    """
    sums = [_sum(tensor) * (2 * index + 1) for index, tensor in enumerate(tensors)]
    return int(torch.stack([value.cpu() for value in sums]).sum()) if sums else 0


def _sum(tensor: Any) -> torch.Tensor:
    local = (tensor.to_local() if hasattr(tensor, "to_local") else tensor).detach()
    if local.element_size() not in _INTEGERS:  # complex128
        local = torch.view_as_real(local)
    integers: torch.Tensor = local.view(_INTEGERS[local.element_size()])
    if local.is_contiguous() and local.nbytes % 8 == 0 and local.data_ptr() % 8 == 0:
        integers = local.view(-1).view(torch.int64)  # several times as fast as narrow ones
    return integers.sum(dtype=torch.int64)


def holders(
    tensors: Iterable[Any], rank: int, dimensions: Mapping[str, int]
) -> dict[tuple[int, ...], list[Any]]:
    """The tensors by the ranks that hold the same as this one, where there are any others.

    A DTensor says so itself; a plain one is the same on all ranks that differ in `dp_replicate` alone. What is on the
    device `meta` is held elsewhere.
    """
    mesh = torch.arange(torch.Size(dimensions.values()).numel()).view(tuple(dimensions.values()))
    replicated = [name == "dp_replicate" for name in dimensions]
    tensors_by_ranks: dict[tuple[int, ...], list[Any]] = {}
    for tensor in tensors:
        if tensor.is_meta:
            continue
        if hasattr(tensor, "placements"):
            ranks = _alike(
                tensor.device_mesh.mesh, [placement.is_replicate() for placement in tensor.placements], rank
            )
        else:
            ranks = _alike(mesh, replicated, rank)
        if len(ranks) > 1:
            tensors_by_ranks.setdefault(ranks, []).append(tensor)
    return tensors_by_ranks


def odd_replicas(sums: Mapping[int, object]) -> tuple[tuple[int, ...], bool]:
    """The ranks whose sum is not that of the majority, and True; without a majority all of them, and False."""
    value, votes = Counter(sums.values()).most_common(1)[0]
    if 2 * votes <= len(sums) and votes < len(sums):
        return tuple(sums), False
    return tuple(rank for rank, rank_sum in sums.items() if rank_sum != value), True


def _alike(mesh: torch.Tensor, replicated: list[bool], rank: int) -> tuple[int, ...]:
    coordinates = (mesh == rank).nonzero()[0].tolist()
    index = tuple(slice(None) if free else coordinate for free, coordinate in zip(replicated, coordinates))
    return tuple(mesh[index].flatten().tolist())


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
        parameters = [parameter for model in models for parameter in model.parameters()]
        tensors_by_ranks = holders(parameters, self._group.rank, dimensions)
        sums = {ranks: total(tensors) for ranks, tensors in tensors_by_ranks.items()}
        return self._judge(step, "weights", sums)

    def computing(self, step: int, model: nn.Module, loss_of: Loss, batch: Any) -> codes.Leaving | None:
        """Compute rank 0's microbatch on all ranks and compare; as `weights`. All ranks hold the whole model.

        A model that gives other bits when the same rank computes again cannot be compared: that is said, once.
        """
        inner = names.bare(model)
        if any(hasattr(parameter, "placements") for parameter in inner.parameters()):
            raise ValueError("verify compares models that every rank holds whole; this one is sharded")
        if self._unsteady:
            return None
        batch = self._group.share(batch)
        everyone = tuple(range(self._group.world_size))
        reference = _compute(inner, loss_of, batch, step)
        if len(set(self._group.gather(reference))) == 1:
            return None
        self._unsteady = any(self._group.gather(_compute(inner, loss_of, batch, step) != reference))
        if self._unsteady:
            self._log.log_line(
                "the model computes other bits each time: ranks cannot be compared by what they compute"
            )
            return None
        return self._judge(step, "gradients", {everyone: reference})

    def _judge(
        self, step: int, quantity: str, sums: Mapping[tuple[int, ...], object]
    ) -> codes.Leaving | None:
        reports = self._group.gather((socket.gethostname(), dict(sums)))
        wrong: set[int] = set()
        sure = True
        for ranks in sorted({ranks for _, rank_sums in reports for ranks in rank_sums}):
            odd_ranks, has_majority = odd_replicas({rank: reports[rank][1].get(ranks) for rank in ranks})
            wrong |= set(odd_ranks)
            sure = sure and has_majority
        if not wrong:
            return None
        odd = sorted(wrong)
        hosts = sorted({reports[rank][0] for rank in odd})
        then = self._policy
        self._log.record("corrupt", step=step, what=quantity, ranks=odd, hosts=hosts, sure=sure, then=then)
        ranks_text = f"rank{'s' if len(odd) > 1 else ''} {', '.join(map(str, odd))} on {', '.join(hosts)}"
        message = f"{quantity} of {ranks_text} {'are wrong' if sure else 'differ'} in step {step}"
        self._log.log_line(message)
        if then != "stop":
            return None
        if sure and self._group.rank in odd:
            return codes.Leaving(codes.CORRUPT_HOST, f"{message}: silent corruption on this host")
        return codes.Leaving(codes.CORRUPT, message)


def _compute(model: nn.Module, loss_of: Loss, batch: Any, seed: int) -> tuple[int, int]:
    """The bits of the loss and of the gradients; nothing in model or random states is other afterwards."""
    random, buffers = (
        state.capture(),
        [(module_buffer, module_buffer.clone()) for module_buffer in model.buffers()],
    )
    gradients = [(weight, weight.grad) for weight in model.parameters()]
    for parameter, _ in gradients:
        parameter.grad = None
    seeds.plant(seed)
    loss = loss_of(model, batch)
    torch.autograd.backward(loss)
    sums = total([loss]), total(weight.grad for weight, _ in gradients if weight.grad is not None)
    for parameter, saved in gradients:
        parameter.grad = saved
    with torch.no_grad():
        for buffer, saved in buffers:
            buffer.copy_(saved)
    state.restore(random)
    return sums
