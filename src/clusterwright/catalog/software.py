"""Which driver, CUDA, cuDNN, NCCL and PyTorch go together, and which of them each generation of GPUs can have."""

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
    """One release of PyTorch with what it was built and tested with; versions as their makers write them."""

    torch: str
    python_min: str
    python_max: str
    cuda: str
    cudnn: str
    nccl: str
    driver_min: str  # that CUDA's minor-version compatibility asks for
    driver: str  # that came with the toolkit; anything newer runs it too
    sm_min: str  # compute capabilities it holds kernels for
    sm_max: str
    released: str  # YYYY-MM
    source: str

    def runs_on(self, needs: Generation) -> bool:
        """Whether it holds kernels for that generation of GPUs, and its CUDA knows them."""
        has_kernels = version(self.sm_min) <= version(needs.sm) <= version(self.sm_max)
        return has_kernels and version(self.cuda) >= version(needs.cuda_min)


@dataclass(frozen=True, slots=True)
class Generation:
    """What one generation of GPUs needs at least, and what was the last to know it."""

    arch: str  # as in Gpu.arch
    sm: str  # compute capability of its data-centre GPU
    cuda_min: str
    cuda_last: str  # the last major version that compiles for it; blank while all do
    driver_min: str
    driver_last: str  # the last branch that runs it; blank while all do
    source: str


@cache
def releases() -> Mapping[str, Release]:
    """All known-good rows, by the version of PyTorch."""
    return {row["torch"]: Release(**row) for row in rows("software")}


@cache
def generations() -> Mapping[str, Generation]:
    """What each generation needs, by Gpu.arch."""
    return {row["arch"]: Generation(**row) for row in rows("architectures")}


def oldest_driver(cuda: str) -> str:
    """The oldest driver that runs this CUDA, by minor-version compatibility; blank for a CUDA that is not known."""
    drivers = (release.driver_min for release in releases().values() if major(release.cuda) == major(cuda))
    return next(drivers, "")


def cuda_majors(library: str, which: str) -> frozenset[int] | None:
    """The major versions of CUDA that a `cudnn` or `nccl` may be had for; None where nothing is known of it.

    Between two releases that are known, what either is made for; before the first and after the last, nothing is.
    """
    library_rows = [row for row in rows("libraries") if row["library"] == library]
    older_rows = [row for row in library_rows if version(row["version"]) <= version(which)]
    newer_rows = [row for row in library_rows if version(row["version"]) >= version(which)]
    if not older_rows or not newer_rows:
        return None
    return frozenset(int(major) for row in (older_rows[-1], newer_rows[0]) for major in row["cuda"].split())


def library_for(library: str, cuda: int) -> str:
    """A release of it that is known to be made for that major version of CUDA; blank where none is."""
    library_rows = (row for row in rows("libraries") if row["library"] == library)
    return next((row["version"] for row in library_rows if str(cuda) in row["cuda"].split()), "")


def newest_for(arch: str) -> Release | None:
    """The newest release that runs on a generation; None for one that is not known (other vendors)."""
    needs = generations().get(arch)
    fitting = [release for release in releases().values() if needs and release.runs_on(needs)]
    return max(fitting, key=lambda release: version(release.torch), default=None)


def generation_of(model: str) -> Generation | None:
    """What the GPUs of that model need; None for a model that the catalog has not, or another vendor's."""
    try:
        return generations().get(gpu(model).arch)
    except WrightError:
        return None


def major(text: str) -> int:
    """580 of 580.95, whatever a distribution has put behind it."""
    return version(text)[0]


def version(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with, to be compared: (2, 11, 0) of `2.11.0+cu126`, (12, 8) of `12.8-1`."""
    match = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else (0,)
