"""Text to train on: files as bytes, in windows; default: Python's standard library."""

from __future__ import annotations

import hashlib
import os
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

_VALIDATION_STRIDE = 20  # every twentieth file is for validation
_SUFFIXES = (".py", ".txt", ".md", ".rst")
_ELSEWHERE = {
    "site-packages",
    "dist-packages",
    "test",
    "tests",
    "__pycache__",
}  # folders in the library's folder that are not part of it


class Text:
    """Windows of `context` + 1 consecutive bytes or tokens, overlapping by one."""

    def __init__(self, data: bytes | torch.Tensor, context: int) -> None:
        self._context = context
        self._data = data if isinstance(data, torch.Tensor) else encode_bytes(data)
        if len(self) < 1:
            raise ValueError(f"the text has {len(data)} tokens, not enough for one window of {context + 1}")

    def __len__(self) -> int:
        return (self._data.numel() - 1) // self._context

    @property
    def fingerprint(self) -> str:
        """Return a hash of the text and the window length."""
        return hashlib.sha256(self._data.numpy().tobytes() + b"%d" % self._context).hexdigest()[:16]

    def windows(self, numbers: Sequence[int], device: torch.device) -> torch.Tensor:
        """Return the windows of these indexes, as tokens of shape (B, context + 1)."""
        starts = torch.tensor(numbers, dtype=torch.int64) * self._context
        places = starts[:, None] + torch.arange(self._context + 1)
        return self._data[places].to(device=device, dtype=torch.int64)


def encode_bytes(data: bytes) -> torch.Tensor:
    """Return a tensor with each byte as a token."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0)


def read(
    name: str, *, context: int, limit: int, encode: Callable[[bytes], torch.Tensor] = encode_bytes
) -> tuple[Text, Text]:
    """Return the texts of files in a folder for training and, every 20th, for validation; about `limit` bytes in all.

    `name`: the folder; empty: Python's standard library. `encode` turns bytes into tokens.

    Raises:
        ValueError: the folder has fewer than two text files.
    """
    folder = Path(name or sysconfig.get_path("stdlib"))
    training, validation = bytearray(), bytearray()
    for number, path in enumerate(files(folder)):
        (validation if number % _VALIDATION_STRIDE == 1 else training).extend(path.read_bytes())
        if len(training) + len(validation) >= limit:
            break
    if not validation:
        raise ValueError(
            f"{folder} has fewer than two text files ({', '.join(_SUFFIXES)}); one is for validation"
        )
    return Text(encode(bytes(training)), context), Text(encode(bytes(validation)), context)


def files(folder: Path) -> Iterator[Path]:
    """Yield the paths of the text files in a folder and below, lazily and in a stable order."""
    for root, below, names in os.walk(folder):
        below[:] = sorted(set(below) - _ELSEWHERE)
        yield from (Path(root, name) for name in sorted(names) if name.endswith(_SUFFIXES))
