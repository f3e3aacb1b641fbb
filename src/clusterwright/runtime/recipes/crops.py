"""Which part of an image is seen: another one each time in training, the middle in an evaluation."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

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
            cut = _numbers(image.resize((side, side), resample=2, box=(left, top, left + w, top + h)))
            return cut.flip(-1) if torch.rand(()) < 0.5 else cut
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
