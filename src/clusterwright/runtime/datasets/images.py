"""A dataset of images in one folder per class."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from clusterwright.runtime.datasets.bad import BadSampleError

SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".webp")


def pixels(image: bytes) -> torch.Tensor:
    """Return an image decoded by Pillow as an RGB uint8 tensor of shape (3, height, width).

    Raises:
        OSError: the bytes are not an image, or are truncated.
    """
    from PIL import Image

    with Image.open(io.BytesIO(image)) as opened:
        rgb = opened.convert("RGB")
        flat = torch.frombuffer(bytearray(rgb.tobytes()), dtype=torch.uint8)
        return flat.view(rgb.height, rgb.width, 3).permute(2, 0, 1)


class Images(Dataset[Any]):
    """Images with class indexes; classes are the folders below `folder`, sorted by name.

    `decode` converts the bytes of a file to a sample.

    Raises:
        ValueError: there is no class folder, or one has no images.
    """

    def __init__(self, folder: str | Path, decode: Callable[[bytes], Any] = pixels) -> None:
        self.folder, self._decode = Path(folder), decode
        self.classes = tuple(sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()))
        self._samples: list[tuple[str, int]] = []
        for number, name in enumerate(self.classes):
            count = len(self._samples)
            self._samples += ((path, number) for path in _images(self.folder / name))
            if len(self._samples) == count:
                raise ValueError(f"{self.folder / name} has no images ({', '.join(SUFFIXES)})")
        if not self.classes:
            raise ValueError(f"{folder} has no folders; fix: put the images into one folder per class")

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def fingerprint(self) -> str:
        """Return a hash of the images' paths in the folder, in order; not of their contents."""
        hasher = hashlib.sha256()
        for path, _ in self._samples:
            hasher.update(os.path.relpath(path, self.folder).encode() + b"\n")
        return hasher.hexdigest()[:16]

    def __getitem__(self, number: int) -> tuple[Any, int]:
        """Return the image with this index, decoded, and its class index.

        Raises:
            BadSampleError: the file is not an image, or is truncated.
        """
        path, kind = self._samples[number]
        try:
            with open(path, "rb") as file:  # noqa: PTH123 (a third of the time of Path.read_bytes)
                return self._decode(file.read()), kind
        except (OSError, SyntaxError, ValueError) as error:  # Pillow raises SyntaxError for a broken PNG
            raise BadSampleError.from_sample(path, number, error) from error


def _images(folder: Path) -> Iterator[str]:
    """Yield the paths of the images in a folder and below, in a stable order."""
    for root, below, names in os.walk(folder):
        below.sort()
        yield from (os.path.join(root, name) for name in sorted(names) if name.lower().endswith(SUFFIXES))  # noqa: PTH118 (faster, for a million files)
