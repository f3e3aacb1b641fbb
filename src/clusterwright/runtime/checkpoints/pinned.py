"""Memory that a GPU writes into by itself; on a CPU there is nothing to do."""

from __future__ import annotations

from typing import Any

import torch


def register(memory: torch.Tensor, device: torch.device) -> None:
    """Pin the memory, so that copies from this rank's GPU run at the speed of the bus; without it they are slower."""
    if device.type == "cuda" and memory.numel():
        with torch.cuda.device(device):
            runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]  # (torch has no types for it)
            runtime.cudaHostRegister(memory.data_ptr(), memory.numel(), 0)


def forget(memory: torch.Tensor, device: torch.device) -> None:
    """Undo `register`, before the memory goes."""
    if device.type == "cuda" and memory.numel():
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]  # (torch has no types for it)
        runtime.cudaHostUnregister(memory.data_ptr())


def wait(device: torch.device) -> None:
    """Until all copies from this rank's GPU have arrived."""
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()
