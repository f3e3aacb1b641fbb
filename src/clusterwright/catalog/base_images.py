"""NVIDIA's CUDA images, which images of trainings begin with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.catalog.rows import rows

_REGISTRY = "nvcr.io/nvidia/cuda"


@dataclass(frozen=True, slots=True)
class BaseImage:
    """An image with the CUDA toolkit: `system` is the end of its tag, its distribution."""

    cuda: str
    system: str
    reference: str


def base_images(cuda: str, system: str) -> Iterator[BaseImage]:
    """Yield the catalog's images with this CUDA release, those of the operating system `system` first."""
    images = [
        BaseImage(cuda, name, f"{_REGISTRY}:{row['version']}-devel-{name}")
        for row in rows("base_images")
        if row["cuda"] == cuda
        for name in row["systems"].split()
    ]
    yield from sorted(images, key=lambda image: image.system != system)
