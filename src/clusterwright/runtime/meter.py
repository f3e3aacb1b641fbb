"""Metrics of a step besides its loss: learning rate, gradient norm, memory and CPU time of data loading."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

_EVERY_S = 1.0  # memory and the CPU time of workers change slowly and take 20 us to read
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


class Meter:
    """Collects one rank's metrics once per step, the expensive ones once per second."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._sampled_at = float("-inf")
        self._norm: Any = None
        self._fetch_cpu_s = 0.0  # processor time of this thread while it waited for batches
        self._began_s = 0.0

    def norm(self, norm: Any) -> None:
        """Store the norm of this step's gradients; a tensor is read only when the step is complete."""
        self._norm = norm

    def begin(self) -> None:
        """Start to count the CPU time of fetching a batch in this thread."""
        self._began_s = time.thread_time()

    def fetched(self) -> None:
        """Stop counting the CPU time of fetching a batch, and add it to the total."""
        self._fetch_cpu_s += time.thread_time() - self._began_s

    def step(self, optimizers: Sequence[Any], source: Any) -> dict[str, Any]:
        """Return a step's metrics for its event: learning rate, gradient norm, each second also memory and CPU time.

        `source` is the iterator that batches came from. A value that was not measured is left out; a norm that is not
        finite is None.
        """
        values: dict[str, Any] = {"lr": float(optimizers[0].param_groups[0]["lr"])} if optimizers else {}
        if self._norm is not None:
            norm, self._norm = float(self._norm), None
            values["norm"] = norm if math.isfinite(norm) else None  # JSON has no NaN
        if time.monotonic() - self._sampled_at >= _EVERY_S:
            self._sampled_at = time.monotonic()
            values["memory"], values["reading"] = self._memory(), self._fetch_cpu_s + workers_cpu_s(source)
        return values

    def _memory(self) -> int:
        """Return the peak bytes of GPU memory allocated by tensors.

        On a CPU, the present resident bytes of the process.
        """
        if self._device.type == "cuda":
            return int(torch.cuda.max_memory_allocated(self._device))
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 (a third of the time, each second)
            return int(file.read().split()[1]) * _PAGE


def workers(source: Any) -> int:
    """Return the number of worker processes of a DataLoader's iterator, 0 for anything else."""
    return len(_workers(source))


def workers_cpu_s(source: Any) -> float:
    """Return the CPU seconds so far of the worker processes of a DataLoader's iterator, 0 for anything else."""
    return sum(_cpu_s(process.pid) for process in _workers(source))


def plan(device: torch.device, dtype: torch.dtype | None, models: Sequence[nn.Module]) -> dict[str, Any]:
    """Return fields of the `plan` event: device, dtype, number of parameters, CPUs of this rank."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    numbers = str(dtype or torch.get_default_dtype()).removeprefix("torch.")
    parameters = sum(parameter.numel() for model in models for parameter in model.parameters())
    return {"device": name, "dtype": numbers, "parameters": parameters, "cpus": cpus()}


def cpus() -> int:
    """Return the number of CPUs that this process may use, divided by the ranks of its host; at least 1."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1") or 1)
    return max(1, len(os.sched_getaffinity(0)) // ranks)


def _workers(source: Any) -> Sequence[Any]:
    processes: Sequence[Any] = getattr(source, "_workers", ())
    return processes


def _cpu_s(pid: int) -> float:
    """Return user and system seconds of a process, 0 if it has exited (proc(5): fields 14 and 15 of stat)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123 (same)
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK
