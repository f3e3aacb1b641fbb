"""The versions of driver, CUDA, cuDNN, NCCL and PyTorch that work together and with each GPU generation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright.catalog.gpus import gpu
from clusterwright.catalog.rows import rows
from clusterwright.errors import WrightError


@dataclass(frozen=True, slots=True)
class Release:
    """One release of PyTorch with the versions it was built and tested with, as their vendors write them."""

    torch: str
    python_min: str
    python_max: str
    cuda: str
    cudnn: str
    nccl: str
    driver_min: str  # required by CUDA's minor-version compatibility
    driver: str  # shipped with the toolkit; anything newer works too
    sm_min: str  # compute capabilities with kernels in it
    sm_max: str
    released: str  # YYYY-MM
    source: str

    def runs_on(self, needs: Generation) -> bool:
        """Return True if the release has kernels for this GPU generation, and its CUDA supports the generation."""
        has_kernels = version(self.sm_min) <= version(needs.sm) <= version(self.sm_max)
        return has_kernels and version(self.cuda) >= version(needs.cuda_min)


@dataclass(frozen=True, slots=True)
class Generation:
    """The oldest and newest versions that support one generation of GPUs."""

    arch: str  # as in Gpu.arch
    sm: str  # compute capability of its data-center GPU
    cuda_min: str
    cuda_last: str  # the last major version that compiles for it; blank if all do
    driver_min: str
    driver_last: str  # the last branch that supports it; blank if all do
    source: str


@cache
def releases() -> Mapping[str, Release]:
    """Return all tested releases, by the version of PyTorch."""
    return {row["torch"]: Release(**row) for row in rows("software")}


@cache
def generations() -> Mapping[str, Generation]:
    """Return the requirements of each GPU generation by architecture (`Gpu.arch`)."""
    return {row["arch"]: Generation(**row) for row in rows("architectures")}


def oldest_driver(cuda: str) -> str:
    """Return the oldest driver for this CUDA's major version, by minor-version compatibility; blank if unknown."""
    drivers = (release.driver_min for release in releases().values() if major(release.cuda) == major(cuda))
    return next(drivers, "")


def cuda_majors(library: str, which: str) -> frozenset[int] | None:
    """Return the CUDA major versions that a version of `cudnn` or `nccl` is built for; None if unknown.

    A version between two known releases has the CUDA versions of both; outside the known range it is unknown.
    """
    library_rows = [row for row in rows("libraries") if row["library"] == library]
    older_rows = [row for row in library_rows if version(row["version"]) <= version(which)]
    newer_rows = [row for row in library_rows if version(row["version"]) >= version(which)]
    if not older_rows or not newer_rows:
        return None
    return frozenset(int(major) for row in (older_rows[-1], newer_rows[0]) for major in row["cuda"].split())


def library_for(library: str, cuda: int) -> str:
    """Return a known release of the library for that CUDA major version; blank if there is none."""
    library_rows = (row for row in rows("libraries") if row["library"] == library)
    return next((row["version"] for row in library_rows if str(cuda) in row["cuda"].split()), "")


def newest_for(arch: str) -> Release | None:
    """Return the newest PyTorch release for a GPU generation; None for an unknown one (other vendors)."""
    needs = generations().get(arch)
    fitting = [release for release in releases().values() if needs and release.runs_on(needs)]
    return max(fitting, key=lambda release: version(release.torch), default=None)


def generation_of(model: str) -> Generation | None:
    """Return the requirements of a GPU model's generation; None for an unknown model or another vendor's."""
    try:
        return generations().get(gpu(model).arch)
    except WrightError:
        return None


def major(text: str) -> int:
    """Return a version's first number: 580 of 580.95, with any distribution suffix; 0 if there is none."""
    return version(text)[0]


def version(text: str) -> tuple[int, ...]:
    """Return a version's leading numbers, for comparison: (2, 11, 0) of `2.11.0+cu126`, (12, 8) of `12.8-1`.

    (0,) if there are none.
    """
    match = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else (0,)
