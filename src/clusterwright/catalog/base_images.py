"""NVIDIA's CUDA images that images of trainings begin with, and the Pythons of their distributions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.catalog.rows import rows
from clusterwright.catalog.software import version

_REGISTRY = "nvcr.io/nvidia/cuda"
# Pythons with packages of the distribution, the newest first: packages.ubuntu.com, AppStream of Rocky.
PYTHONS = {
    "ubuntu-20.04": ("3.8",),
    "ubuntu-22.04": ("3.10",),
    "ubuntu-24.04": ("3.12",),
    "rocky-8": ("3.12", "3.11", "3.9"),
    "rocky-9": ("3.12", "3.11", "3.9"),
}
# Distributions without an image of NVIDIA, and the one with the nearest C library (2.36 and 2.35, 2.41 and 2.39).
_NEAREST = {
    "debian-12": "ubuntu-22.04",
    "debian-13": "ubuntu-24.04",
    "alma-8": "rocky-8",
    "alma-9": "rocky-9",
}


@dataclass(frozen=True, slots=True)
class BaseImage:
    """An image with the CUDA toolkit on one release of a distribution."""

    cuda: str
    system: str  # as `os` of the cluster file
    reference: str

    def python(self, oldest: str, newest: str) -> str:
        """Return the newest Python of the distribution within a range; "" if it has none."""
        fitting = (
            name for name in PYTHONS[self.system] if version(oldest) <= version(name) <= version(newest)
        )
        return next(fitting, "")


def base_images(cuda: str, os: str) -> Iterator[BaseImage]:
    """Yield the images with a CUDA release: first the distribution of the hosts, then the others."""
    host_system = _NEAREST.get(os, os)
    images = [
        BaseImage(cuda, system, f"{_REGISTRY}:{row['version']}-devel-{_tag(system)}")
        for row in rows("base_images")
        if row["cuda"] == cuda
        for system in row["systems"].split()
    ]
    yield from sorted(images, key=lambda image: image.system != host_system)


def _tag(system: str) -> str:
    name, _dash, release = system.partition("-")
    return f"{name}{release}" if name == "ubuntu" else f"{name}linux{release}"
