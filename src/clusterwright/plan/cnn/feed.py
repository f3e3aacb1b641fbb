"""What brings images to the GPUs: processor cores that decode them, storage that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

IMAGENET_BYTES = 110e3  # of one JPEG of ImageNet-1k: 138 GB over 1.28 million (ILSVRC 2012)


@dataclass(frozen=True, slots=True)
class Feed:
    """One node's input pipeline; infinite where it is not the question (synthetic data)."""

    cores: float = inf
    # Decoded, cropped, flipped: 735 MB/s by 24 cores with DALI (Mohan et al. 2007.06775, figure 1); PIL is slower.
    images_per_core_s: float = 735e6 / 24 / IMAGENET_BYTES
    storage_bytes_per_s: float = inf  # what the node reads of the data set
    image_bytes: float = IMAGENET_BYTES

    @property
    def images_per_s(self) -> float:
        """The most that a node is fed with."""
        return min(self.cores * self.images_per_core_s, self.storage_bytes_per_s / self.image_bytes)
