"""Random seeds: equal on all ranks while the model is initialized, then different on each rank."""

from __future__ import annotations

import hashlib
import random
import sys

import torch


def plant(*numbers: int) -> None:
    """Seed Python, torch on all devices, and NumPy if it is imported, with a seed derived from `numbers`."""
    number = derive(*numbers)
    random.seed(number)
    torch.manual_seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number % 2**32)  # NumPy's limit


def derive(*numbers: int) -> int:
    """Return a 63-bit hash of these numbers, unrelated for close ones such as ranks 0 and 1."""
    text = ":".join(map(str, numbers))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1
