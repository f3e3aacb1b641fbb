"""Gradients are added up inside each host first, then between hosts, then given back inside: one sum a host travels.

For Gloo, whose ring takes ranks as they come; NCCL knows the hosts.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Hosts:
    """This rank's host and the first rank of each; `dtype` is what travels between hosts, that of gradients if None."""

    def __init__(self, model: DistributedDataParallel, dtype: torch.dtype | None) -> None:
        ranks = dist.get_process_group_ranks(model.process_group)
        host_names: list[Any] = [None] * len(ranks)
        dist.all_gather_object(host_names, _host_name(), group=model.process_group)
        rank, self._ranks, self._dtype = dist.get_rank(), len(ranks), dtype
        self._inside: Any = None
        hosts = by_host(ranks, host_names)
        for host in hosts:  # all ranks make all groups, in one order
            group = dist.new_group(list(host), backend="gloo")
            if rank in host:
                self._inside, self._first_rank, self._is_single = group, host[0], len(host) == 1
        firsts = [host[0] for host in hosts]
        self._leaders_group = dist.new_group(firsts, backend="gloo")
        self._between_hosts = len(firsts) > 1 and rank in firsts
        self._leads = rank == self._first_rank

    def add_up(self, _index: int, buffer: torch.Tensor) -> None:
        """The mean over all ranks, in place."""
        if not self._is_single:
            dist.reduce(buffer, self._first_rank, group=self._inside)
        if self._leads:
            self._reduce_mean(buffer)
        if not self._is_single:
            dist.broadcast(buffer, self._first_rank, group=self._inside)

    def _reduce_mean(self, buffer: torch.Tensor) -> None:
        """Over all ranks, of what the first rank of each host holds."""
        buffer.div_(self._ranks)
        if self._between_hosts:
            payload = buffer if self._dtype is None else buffer.to(self._dtype)
            dist.all_reduce(payload, group=self._leaders_group)
            buffer.copy_(payload)
        elif self._dtype is not None:
            buffer.copy_(buffer.to(self._dtype))


def by_host(ranks: Sequence[int], hosts: Sequence[str]) -> list[tuple[int, ...]]:
    """The ranks of each host, hosts in the order of their first ranks."""
    ranks_by_host: dict[str, list[int]] = {}
    for rank, host in zip(ranks, hosts):
        ranks_by_host.setdefault(host, []).append(rank)
    return [tuple(members) for members in ranks_by_host.values()]


def _host_name() -> str:
    """The host as its launcher numbers it; without one, by its name."""
    return os.environ.get("GROUP_RANK") or socket.gethostname()
