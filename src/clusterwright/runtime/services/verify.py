"""Detection of silent data corruption: hardware that computes or stores wrong numbers without an error.

Every N steps, ranks that must hold equal weights compare checksums, and all compute the same microbatch and compare
loss and gradients bitwise. With three or more ranks the majority identifies the wrong one.
Not detected: an error that is equal on all ranks, and one between two checks that leaves the replicas equal, such as
a wrong gradient, which is summed into all of them.
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
    """Return a checksum: the sum of all words modulo 2^64, with a different odd weight for each tensor; 0 for none.

    A single changed word is always detected; two that change by opposite amounts are not.
    """
    sums = [_sum(tensor) * (2 * index + 1) for index, tensor in enumerate(tensors)]
    return int(torch.stack([value.cpu() for value in sums]).sum()) if sums else 0


def _sum(tensor: Any) -> torch.Tensor:
    local = (tensor.to_local() if hasattr(tensor, "to_local") else tensor).detach()
    if local.element_size() not in _INTEGERS:  # complex128
        local = torch.view_as_real(local)
    integers: torch.Tensor = local.view(_INTEGERS[local.element_size()])
    if local.is_contiguous() and local.nbytes % 8 == 0 and local.data_ptr() % 8 == 0:
        integers = local.view(-1).view(torch.int64)  # several times as fast as narrow integers
    return integers.sum(dtype=torch.int64)


def holders(
    tensors: Iterable[Any], rank: int, dimensions: Mapping[str, int]
) -> dict[tuple[int, ...], list[Any]]:
    """Return the tensors by the ranks that hold the same values as this one; those without replicas are left out.

    A DTensor's placements name its replicas; a plain tensor is equal on all ranks that differ in `dp_replicate`
    alone. Tensors on the device `meta` are held by other ranks.
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
    """Return the ranks whose checksum differs from the majority's, and True; without one all ranks, and False.

    No ranks and True if all sums are equal.
    """
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
    """Compares replicas every `every` steps (0: never); `policy` is stop or continue."""

    def __init__(self, joined: Group, log: Events, every: int, policy: str) -> None:
        if policy not in POLICIES:
            raise ValueError(f"on_corruption={policy}: must be one of {', '.join(POLICIES)}")
        self._group, self._log = joined, log
        self.every, self._policy = every, policy
        self._unsteady = False

    def due(self, step: int) -> bool:
        """Return True if replicas are compared at this step: every `every` steps, with more than one rank."""
        return bool(self.every and step % self.every == 0 and self._group.world_size > 1)

    def weights(
        self, step: int, models: list[nn.Module], dimensions: Mapping[str, int]
    ) -> codes.Leaving | None:
        """Compare the weights of replicas bit by bit, and log ranks that differ; collective.

        Return how to exit if they differ and the policy is stop, None to continue.
        """
        parameters = [parameter for model in models for parameter in model.parameters()]
        tensors_by_ranks = holders(parameters, self._group.rank, dimensions)
        sums = {ranks: total(tensors) for ranks, tensors in tensors_by_ranks.items()}
        return self._judge(step, "weights", sums)

    def computing(self, step: int, model: nn.Module, loss_of: Loss, batch: Any) -> codes.Leaving | None:
        """Compute rank 0's microbatch on all ranks and compare gradients bitwise; return as `weights` does; collective.

        A model that is not deterministic on one rank cannot be compared; this is logged once, and later calls return
        None.

        Raises:
            ValueError: the model is sharded.
        """
        inner = names.bare(model)
        if any(hasattr(parameter, "placements") for parameter in inner.parameters()):
            raise ValueError("verify needs a model that every rank holds unsharded; this one is sharded")
        if self._unsteady:
            return None
        batch = self._group.share(batch)
        everyone = tuple(range(self._group.world_size))
        reference = _compute(inner, loss_of, batch, step)
        if len(set(self._group.gather(reference))) == 1:
            return None
        self._unsteady = any(self._group.gather(_compute(inner, loss_of, batch, step) != reference))
        if self._unsteady:
            self._log.log_line("the model is not deterministic: verify cannot compare the gradients of ranks")
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
        action = self._policy
        self._log.record(
            "corrupt", step=step, quantity=quantity, ranks=odd, hosts=hosts, sure=sure, action=action
        )
        ranks_text = f"rank{'s' if len(odd) > 1 else ''} {', '.join(map(str, odd))} on {', '.join(hosts)}"
        message = f"{quantity} of {ranks_text} {'are wrong' if sure else 'differ'} at step {step}"
        self._log.log_line(message)
        if action != "stop":
            return None
        if sure and self._group.rank in odd:
            return codes.Leaving(codes.CORRUPT_HOST, f"{message}: silent corruption on this host")
        return codes.Leaving(codes.CORRUPT, message)


def _compute(model: nn.Module, loss_of: Loss, batch: Any, seed: int) -> tuple[int, int]:
    """Return checksums of loss and gradients; restores gradients, buffers and random states of the model."""
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
