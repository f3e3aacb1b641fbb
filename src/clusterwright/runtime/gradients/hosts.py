"""Hierarchical all-reduce: reduce within each host, all-reduce between hosts, broadcast within each host.

For Gloo, whose ring ignores hosts; NCCL takes them into account itself.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime.group import gather


class HostGroups:
    """Hierarchical all-reduce of a model's buckets; `dtype` is used between hosts (None: that of the gradients)."""

    def __init__(self, model: DistributedDataParallel, dtype: torch.dtype | None) -> None:
        ranks = dist.get_process_group_ranks(model.process_group)
        host_names = gather(_host_name(), model.process_group)
        rank, self._ranks, self._dtype = dist.get_rank(), len(ranks), dtype
        self._inside: Any = None
        hosts = by_host(ranks, host_names)
        for host in hosts:  # all ranks must create all groups in the same order
            group = dist.new_group(list(host), backend="gloo")
            if rank in host:
                self._inside, self._first_rank, self._is_single = group, host[0], len(host) == 1
        firsts = [host[0] for host in hosts]
        self._leaders_group = dist.new_group(firsts, backend="gloo")
        self._between_hosts = len(firsts) > 1 and rank in firsts
        self._leads = rank == self._first_rank

    def add_up(self, _index: int, buffer: torch.Tensor) -> None:
        """Average the buffer over all ranks, in place; collective.

        It is summed within hosts, averaged between their first ranks, and sent back.
        """
        if not self._is_single:
            dist.reduce(buffer, self._first_rank, group=self._inside)
        if self._leads:
            self._reduce_mean(buffer)
        if not self._is_single:
            dist.broadcast(buffer, self._first_rank, group=self._inside)

    def _reduce_mean(self, buffer: torch.Tensor) -> None:
        """Turn this host's sum into the mean over all ranks, in place; runs on the first rank of each host.

        With a dtype, values travel in it, and are rounded to it also on a single host.
        """
        buffer.div_(self._ranks)
        if self._between_hosts:
            payload = buffer if self._dtype is None else buffer.to(self._dtype)
            dist.all_reduce(payload, group=self._leaders_group)
            buffer.copy_(payload)
        elif self._dtype is not None:
            buffer.copy_(buffer.to(self._dtype))


def by_host(ranks: Sequence[int], hosts: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the ranks of each host, hosts in the order of their first ranks."""
    ranks_by_host: dict[str, list[int]] = {}
    for rank, host in zip(ranks, hosts):
        ranks_by_host.setdefault(host, []).append(rank)
    return [tuple(members) for members in ranks_by_host.values()]


def _host_name() -> str:
    """Return the host's number as set by the launcher, or its host name."""
    return os.environ.get("GROUP_RANK") or socket.gethostname()
