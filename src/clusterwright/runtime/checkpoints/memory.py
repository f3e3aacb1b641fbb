"""Conversion between tensors and Python bytes without NumPy, which need not be installed."""

from __future__ import annotations

import ctypes

import torch


def view(tensor: torch.Tensor) -> memoryview:
    """Return a memoryview of a flat uint8 CPU tensor, without a copy; it keeps the tensor alive."""
    if not tensor.numel():
        return memoryview(b"")
    array = (ctypes.c_ubyte * tensor.numel()).from_address(tensor.data_ptr())
    array.owner = tensor  # type: ignore[attr-defined]  # (from_address holds no reference)
    return memoryview(array).cast("B")


def tensor(data: bytes) -> torch.Tensor:
    """Return a copy of the bytes as a flat uint8 tensor."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
