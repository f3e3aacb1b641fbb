"""Images to train on: scikit-learn's digits, CIFAR-10 as its makers give it, or a folder for each class."""

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

_MEAN = torch.tensor([0.485, 0.456, 0.406])[:, None, None]  # of ImageNet, as everybody has them
_SPREAD = torch.tensor([0.229, 0.224, 0.225])[:, None, None]
_MARGIN = 256 / 224  # an evaluation's image is scaled to this much more than is seen


def shifted(images: Tensor, most: int, drawn: Tensor) -> Tensor:
    """The images (B, C, height, width), each moved by up to so many pixels; what comes in is zero.

    `drawn` is a random number for each, of 63 bits.
    """
    padded, places = F.pad(images, (most,) * 4), 2 * most + 1
    top, left = drawn // 2 % places, drawn // (2 * places) % places
    rows = top[:, None, None, None] + torch.arange(images.shape[2])[:, None]
    columns = left[:, None, None, None] + torch.arange(images.shape[3])
    which = torch.arange(len(images))[:, None, None, None]
    return padded[which, torch.arange(images.shape[1])[:, None, None], rows, columns]


def random(image: Any, side: int) -> Tensor:
    """8 to 100 % of an image of Pillow's, 3:4 to 4:3, as GoogLeNet's training had it; every second one mirrored."""
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
    """The middle of an image of Pillow's."""
    width, height = image.size
    size = min(width, height) / _MARGIN
    left, top = (width - size) / 2, (height - size) / 2
    return _numbers(image.resize((side, side), resample=2, box=(left, top, left + size, top + size)))


def _numbers(image: Any) -> Tensor:
    flat = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    pixels = flat.view(image.height, image.width, 3).permute(2, 0, 1)
    return (pixels.float() / 255 - _MEAN) / _SPREAD


_DIGITS = Path(__file__).with_name("digits.txt")
_RECORD = 1 + 3 * 32 * 32  # of CIFAR-10's binary version: a label, then three planes
_CLASSES = 10


@dataclass(frozen=True)
class Kind:
    """What a network has to know of its images."""

    classes: int
    channels: int
    side: int


class InMemory(Dataset[Any]):
    """Images that are all in memory as bytes; for training each is shifted by up to `shift` pixels.

    How an image is seen follows from its number, its epoch and the seed, so a resumed training sees the same. All of
    a batch are made together: one by one they would take small images longer than a network does.
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
        """Of all images, in their order."""
        return hashlib.sha256(self._images.numpy().tobytes()).hexdigest()[:16]

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        images, labels = self.__getitems__([number])
        return images[0], int(labels[0])

    def __getitems__(self, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """A whole batch, as torch's DataLoader asks for it; `identity_collate` leaves it so."""
        chosen = list(numbers)
        images = (self._images[chosen].float() - self._mean) / self._spread
        if self._shift or self._flip:
            drawn = torch.tensor([sample_seed(number, self._seed) for number in numbers])
            images = shifted(images, self._shift, drawn)
        if self._flip:
            images = torch.where((drawn % 2 == 1)[:, None, None, None], images.flip(-1), images)
        return images, self._labels[chosen]


def identity_collate(batch: Any) -> Any:
    """What a DataLoader does to the batches of `InMemory`."""
    return batch


def read(
    name: str, side: int, *, skip_bad: bool, report: Any = print, seed: int = 0
) -> tuple[Any, Any, Kind]:
    """Images for training and for validation; `report` hears of each that is passed over.

    Raises:
        ValueError: what is there is not what it should be; the file is named.
    """
    if name == "digits":
        return digits(seed)
    folder = Path(name)
    if list(folder.glob("*.bin")):
        return (*cifar(folder, seed), Kind(_CLASSES, 3, 32))
    for part in ("train", "val"):
        if not (folder / part).is_dir():
            raise ValueError(
                f"{folder} holds neither CIFAR-10's *.bin nor a folder `{part}` with one for each class"
            )
    training = Images(folder / "train", decode=lambda data: random(opened(data), side))
    validation = Images(folder / "val", decode=lambda data: middle(opened(data), side))
    if training.classes != validation.classes:
        odd = min(set(training.classes) ^ set(validation.classes))
        raise ValueError(f"{folder}: class `{odd}` is in only one of train and val")
    kind = Kind(len(training.classes), 3, side)
    if not skip_bad:
        return training, validation, kind
    return Tolerant(training, report=report), Tolerant(validation, report=report), kind


def digits(seed: int = 0) -> tuple[InMemory, InMemory, Kind]:
    """1,797 handwritten digits of 8 x 8 pixels; each fifth is held out."""
    rows = [line.split() for line in _DIGITS.read_text().splitlines() if not line.startswith("#")]
    labels = torch.tensor([int(label) for label, _ in rows])
    values = [[ord(char) - ord("a") for char in row] for _, row in rows]
    images = torch.tensor(values, dtype=torch.uint8).view(-1, 1, 8, 8)
    validation_mask = torch.arange(len(rows)) % 5 == 4
    training = InMemory(images[~validation_mask], labels[~validation_mask], shift=1, seed=seed)
    return training, InMemory(images[validation_mask], labels[validation_mask]), Kind(_CLASSES, 1, 8)


def cifar(folder: Path, seed: int = 0) -> tuple[InMemory, InMemory]:
    """data_batch_1.bin to _5.bin, and test_batch.bin."""
    training = [_records(path) for path in sorted(folder.glob("data_batch_*.bin"))]
    if not training or not (folder / "test_batch.bin").exists():
        raise ValueError(f"{folder} lacks data_batch_*.bin or test_batch.bin of CIFAR-10's binary version")
    images, labels = (torch.cat(tensors) for tensors in zip(*training))
    training_set = InMemory(images, labels, shift=4, flip=True, seed=seed)
    return training_set, InMemory(*_records(folder / "test_batch.bin"))


def _records(path: Path) -> tuple[Tensor, Tensor]:
    data = path.read_bytes()
    if not data or len(data) % _RECORD:
        raise ValueError(f"{path} has {len(data)} bytes, no multiple of {_RECORD}: it was not copied whole")
    rows = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, _RECORD)
    bad = (rows[:, 0] >= _CLASSES).nonzero().flatten().tolist()
    if bad:
        raise ValueError(
            f"{path}: record {bad[0]} has label {int(rows[bad[0], 0])}, and there are {_CLASSES} classes"
        )
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].long()


def opened(data: bytes) -> Any:
    """An image of Pillow's, in RGB.

    Raises:
        ModuleNotFoundError: Pillow is not installed; says how it would be.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "folders of images need `pip install clusterwright[data]` (Pillow)"
        ) from error
    return Image.open(io.BytesIO(data)).convert("RGB")
