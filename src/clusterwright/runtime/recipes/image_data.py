"""Image data for training: scikit-learn's digits, the binary version of CIFAR-10, or a folder per class."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import Dataset

from clusterwright.runtime import sample_seed
from clusterwright.runtime.datasets import Images, Tolerant

_MEAN = torch.tensor([0.485, 0.456, 0.406])[:, None, None]  # of ImageNet, the usual values
_SPREAD = torch.tensor([0.229, 0.224, 0.225])[:, None, None]
_MARGIN = 256 / 224  # resize over crop, in evaluations


def shifted(images: Tensor, most: int, drawn: Tensor) -> Tensor:
    """Return each image of (B, C, height, width) shifted by up to `most` pixels, with zero padding.

    `drawn` has a random 63-bit number per image, which determines the shift.
    """
    padded, places = F.pad(images, (most,) * 4), 2 * most + 1
    top, left = drawn // 2 % places, drawn // (2 * places) % places
    rows = top[:, None, None, None] + torch.arange(images.shape[2])[:, None]
    columns = left[:, None, None, None] + torch.arange(images.shape[3])
    which = torch.arange(len(images))[:, None, None, None]
    return padded[which, torch.arange(images.shape[1])[:, None, None], rows, columns]


def random(image: Any, side: int) -> Tensor:
    """Return a random crop of 8 to 100 % of a Pillow image at 3:4 to 4:3, as for GoogLeNet, at `side` x `side` pixels.

    Half of the crops, at random, are mirrored. Images too narrow for ten tries are cropped in the middle.
    """
    width, height = image.size
    for _ in range(10):
        area = width * height * (0.08 + 0.92 * torch.rand(()).item())
        ratio = math.exp((2 * torch.rand(()).item() - 1) * math.log(4 / 3))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = int(torch.randint(0, width - w + 1, ())), int(torch.randint(0, height - h + 1, ()))
            crop = _numbers(image.resize((side, side), resample=2, box=(left, top, left + w, top + h)))
            return crop.flip(-1) if torch.rand(()) < 0.5 else crop
    return middle(image, side)


def middle(image: Any, side: int) -> Tensor:
    """Return the central square of a Pillow image, 224/256 of the shorter edge, at `side` x `side` pixels."""
    width, height = image.size
    size = min(width, height) / _MARGIN
    left, top = (width - size) / 2, (height - size) / 2
    return _numbers(image.resize((side, side), resample=2, box=(left, top, left + size, top + size)))


def _numbers(image: Any) -> Tensor:
    flat = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    pixels = flat.view(image.height, image.width, 3).permute(2, 0, 1)
    return (pixels.float() / 255 - _MEAN) / _SPREAD


_DIGITS = Path(__file__).with_name("digits.txt")
_RECORD = 1 + 3 * 32 * 32  # bytes of a CIFAR-10 record: a label, then three planes
_CLASSES = 10


@dataclass(frozen=True)
class ImageKind:
    """The properties of images that determine a network's shape."""

    classes: int
    channels: int
    side: int


class InMemory(Dataset[Any]):
    """Images in memory as bytes; for training, each is shifted by up to `shift` pixels and optionally mirrored.

    The augmentation depends on the image's index, its epoch and the seed, so a resumed training repeats it. A batch is
    processed as a whole: one by one, small images would take longer than the network.
    """

    def __init__(
        self, images: Tensor, labels: Tensor, *, shift: int = 0, flip: bool = False, seed: int = 0
    ) -> None:
        self._images, self._labels, self._shift, self._flip, self._seed = images, labels, shift, flip, seed
        pixels = images.float()
        self._mean, self._spread = pixels.mean().item(), pixels.std().item()

    def __len__(self) -> int:
        return len(self._images)

    @property
    def fingerprint(self) -> str:
        """Return a hash of all images, in order."""
        return hashlib.sha256(self._images.numpy().tobytes()).hexdigest()[:16]

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        images, labels = self.__getitems__([number])
        return images[0], int(labels[0])

    def __getitems__(self, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the images and labels of a whole batch, normalized, shifted and mirrored as set.

        torch's DataLoader calls it, with `identity_collate`.
        """
        chosen = list(numbers)
        images = (self._images[chosen].float() - self._mean) / self._spread
        if self._shift or self._flip:
            drawn = torch.tensor([sample_seed(number, self._seed) for number in numbers])
            images = shifted(images, self._shift, drawn)
        if self._flip:
            images = torch.where((drawn % 2 == 1)[:, None, None, None], images.flip(-1), images)
        return images, self._labels[chosen]


def identity_collate(batch: Any) -> Any:
    """Return the batch of `InMemory` unchanged; a collate_fn."""
    return batch


def read(
    name: str, side: int, *, skip_bad: bool, report: Any = print, seed: int = 0
) -> tuple[Any, Any, ImageKind]:
    """Return datasets for training and validation, and their shape; `name`: `digits`, or a folder.

    The folder has CIFAR-10's *.bin, or `train` and `val` with a folder per class. With `skip_bad`, `report` is called
    with a message for each skipped image; only folders per class have such.

    Raises:
        ValueError: files are missing or invalid; the message names one.
    """
    if name == "digits":
        return digits(seed)
    folder = Path(name)
    if list(folder.glob("*.bin")):
        return (*cifar(folder, seed), ImageKind(_CLASSES, 3, 32))
    for part in ("train", "val"):
        if not (folder / part).is_dir():
            raise ValueError(
                f"{folder} has neither CIFAR-10's *.bin nor a folder `{part}` with a folder per class"
            )
    training = Images(folder / "train", decode=lambda data: random(opened(data), side))
    validation = Images(folder / "val", decode=lambda data: middle(opened(data), side))
    if training.classes != validation.classes:
        odd = min(set(training.classes) ^ set(validation.classes))
        raise ValueError(f"{folder}: class `{odd}` is in only one of train and val")
    kind = ImageKind(len(training.classes), 3, side)
    if not skip_bad:
        return training, validation, kind
    return Tolerant(training, report=report), Tolerant(validation, report=report), kind


def digits(seed: int = 0) -> tuple[InMemory, InMemory, ImageKind]:
    """Return datasets for training and validation of 1,797 handwritten digits of 8 x 8 pixels, and their shape.

    Every fifth is for validation.
    """
    rows = [line.split() for line in _DIGITS.read_text().splitlines() if not line.startswith("#")]
    labels = torch.tensor([int(label) for label, _ in rows])
    values = [[ord(char) - ord("a") for char in row] for _, row in rows]
    images = torch.tensor(values, dtype=torch.uint8).view(-1, 1, 8, 8)
    validation_mask = torch.arange(len(rows)) % 5 == 4
    training = InMemory(images[~validation_mask], labels[~validation_mask], shift=1, seed=seed)
    return training, InMemory(images[validation_mask], labels[validation_mask]), ImageKind(_CLASSES, 1, 8)


def cifar(folder: Path, seed: int = 0) -> tuple[InMemory, InMemory]:
    """Return datasets for training and validation of CIFAR-10 from data_batch_*.bin and test_batch.bin.

    Only training images are shifted and mirrored, by `seed`.

    Raises:
        ValueError: a file is missing or invalid.
    """
    training = [_records(path) for path in sorted(folder.glob("data_batch_*.bin"))]
    if not training or not (folder / "test_batch.bin").exists():
        raise ValueError(f"{folder} lacks data_batch_*.bin or test_batch.bin of CIFAR-10's binary version")
    images, labels = (torch.cat(tensors) for tensors in zip(*training))
    training_set = InMemory(images, labels, shift=4, flip=True, seed=seed)
    return training_set, InMemory(*_records(folder / "test_batch.bin"))


def _records(path: Path) -> tuple[Tensor, Tensor]:
    data = path.read_bytes()
    if not data or len(data) % _RECORD:
        raise ValueError(f"{path} has {len(data)} bytes, not a multiple of {_RECORD}: it is truncated")
    rows = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, _RECORD)
    bad = (rows[:, 0] >= _CLASSES).nonzero().flatten().tolist()
    if bad:
        raise ValueError(
            f"{path}: record {bad[0]} has label {int(rows[bad[0], 0])}, but there are only {_CLASSES} classes"
        )
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].long()


def opened(data: bytes) -> Any:
    """Return an encoded image as an RGB Pillow image.

    Raises:
        ModuleNotFoundError: Pillow is not installed; the message has the pip command.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "folders of images need `pip install clusterwright[data]` (Pillow)"
        ) from error
    return Image.open(io.BytesIO(data)).convert("RGB")
