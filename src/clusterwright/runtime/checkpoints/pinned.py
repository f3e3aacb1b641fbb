"""Pinned host memory for copies from the GPU; no-ops on a CPU."""

from __future__ import annotations

from typing import Any

import torch


def register(memory: torch.Tensor, device: torch.device) -> None:
    """Pin the memory, so that copies from this rank's GPU run at bus speed; does nothing on a CPU."""
    if device.type == "cuda" and memory.numel():
        with torch.cuda.device(device):
            runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]  # (torch has no types for it)
            runtime.cudaHostRegister(memory.data_ptr(), memory.numel(), 0)


def forget(memory: torch.Tensor, device: torch.device) -> None:
    """Unpin the memory, before it is freed; does nothing on a CPU."""
    if device.type == "cuda" and memory.numel():
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]  # (torch has no types for it)
        runtime.cudaHostUnregister(memory.data_ptr())


def wait(device: torch.device) -> None:
    """Wait until all copies from this rank's GPU have arrived; does nothing on a CPU."""
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()
