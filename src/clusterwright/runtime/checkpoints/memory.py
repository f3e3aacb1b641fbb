"""The bytes of a tensor as Python sees bytes: no copy, and no NumPy, which need not be installed."""

from __future__ import annotations

import ctypes

import torch


def view(tensor: torch.Tensor) -> memoryview:
    """The memory of a flat uint8 tensor on the CPU, which lives as long as the view of it does."""
    if not tensor.numel():
        return memoryview(b"")
    array = (ctypes.c_ubyte * tensor.numel()).from_address(tensor.data_ptr())
    array.owner = tensor  # type: ignore[attr-defined]  # (from_address keeps nothing alive)
    return memoryview(array).cast("B")


def tensor(data: bytes) -> torch.Tensor:
    """The bytes as a flat uint8 tensor of its own."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
