"""Seeds: equal on all ranks while the model is made, then each rank's own."""

from __future__ import annotations

import hashlib
import random
import sys

import torch


def plant(*numbers: int) -> None:
    """Seed Python, NumPy (where it is loaded) and torch, on every device, with a number made of `numbers`."""
    number = derive(*numbers)
    random.seed(number)
    torch.manual_seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number % 2**32)  # all that it takes


def derive(*numbers: int) -> int:
    """63 bits that look unrelated for words that are close: ranks 0 and 1, or seeds 1 and 2."""
    text = ":".join(map(str, numbers))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1
