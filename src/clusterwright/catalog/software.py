"""Which driver, CUDA, cuDNN, NCCL and PyTorch go together, and what each generation of GPUs needs at least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright.catalog.rows import rows


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
        fits = version(self.sm_min) <= version(needs.sm) <= version(self.sm_max)
        return fits and version(self.cuda) >= version(needs.cuda_min)


@dataclass(frozen=True, slots=True)
class Generation:
    """What one generation of GPUs needs at least."""

    arch: str  # as in Gpu.arch
    sm: str  # compute capability of its data-centre GPU
    cuda_min: str
    driver_min: str
    source: str


@cache
def releases() -> Mapping[str, Release]:
    """All known-good rows, by the version of PyTorch."""
    return {row["torch"]: Release(**row) for row in rows("software")}


@cache
def generations() -> Mapping[str, Generation]:
    """What each generation needs, by Gpu.arch."""
    return {row["arch"]: Generation(**row) for row in rows("architectures")}


def newest_for(arch: str) -> Release | None:
    """The newest release that runs on a generation; None for one that is not known (other vendors)."""
    needs = generations().get(arch)
    fitting = [each for each in releases().values() if needs and each.runs_on(needs)]
    return max(fitting, key=lambda each: version(each.torch), default=None)


def driver_for(release: Release, arch: str) -> str:
    """The oldest driver that runs this release on this generation."""
    needs = generations().get(arch)
    found = [release.driver_min, *([needs.driver_min] if needs else [])]
    return max(found, key=version)


def version(text: str) -> tuple[int, ...]:
    """`2.11.0+cu126` as numbers that compare: (2, 11, 0)."""
    return tuple(int(part) for part in text.partition("+")[0].split("."))
