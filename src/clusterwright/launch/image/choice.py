"""Choose the versions of an image: the base, Python, PyTorch, NCCL and packages that suit a cluster and a job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from clusterwright.catalog.base_images import base_images
from clusterwright.catalog.software import Release, generation_of, major, releases, version
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.source import printable
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.image.requirements import Requirement, parse_requirements
from clusterwright.onhost.adapters import registry
from clusterwright.platforms import Platform, platforms
from clusterwright.provision.rdma_packages import inbox_packages

_NGC = "nvcr.io/nvidia/pytorch:25.09-py3"
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}")  # one word of a Containerfile
_INDEX = "https://download.pytorch.org/whl"
# Packages of a framework on PyPI, where the job file names one; PyTorch itself is installed before them.
_FRAMEWORKS = {
    "accelerate": ("accelerate",),
    "deepspeed": ("deepspeed",),
    "fairscale": ("fairscale",),
    "jax": ("jax[cuda{cuda}]",),
    "lightning": ("lightning",),
    "megatron": ("megatron-core",),
    "tensorflow": ("tensorflow[and-cuda]",),
    "torchtitan": ("torchtitan",),
    "transformers": ("transformers", "accelerate"),
}


@dataclass(frozen=True, slots=True)
class _Base:
    """A base image with its distribution, by the end of its tag and as a platform, and the Python for a release."""

    reference: str
    system: str
    platform: Platform
    python: str


@dataclass(frozen=True, slots=True)
class ImageChoice:
    """What an image has, and notes about what differs from the hosts. An empty text is not installed."""

    base: str
    system: str
    package_manager: str
    python: str
    torch: str
    cuda: str
    cudnn: str
    nccl: str
    nccl_pin: str  # the NCCL package that replaces that of PyTorch
    index: str
    rdma_packages: tuple[str, ...]
    mpi_packages: tuple[str, ...]
    framework_packages: tuple[str, ...]
    mounts: tuple[str, ...]
    notes: tuple[str, ...]


def choose_image(
    cluster: Cluster, job: Job | None = None, requirements: str = "", base: str = ""
) -> ImageChoice:
    """Return the versions and the base image that suit a cluster and a job.

    `base` replaces the base image: one with `pytorch` in its name has PyTorch and Python, any other has none.

    Raises:
        WrightError: `image-no-release`: no release of PyTorch suits the cluster; `image-torch-conflict`: the
            requirements name another one; `usage`: `base` is no name of an image.
    """
    if base and not _REFERENCE.fullmatch(base):
        message = _("`{text}` is no name of an image", text=printable(base[:80]))
        fix = _(
            "write the image as REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST, such as {example}",
            example=_NGC,
        )
        raise WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)
    torch_lines = [item for item in parse_requirements(requirements) if item.name == "torch"]
    if base and "pytorch" in base:
        _refuse_torch(torch_lines, base)
        return _complete(cluster, job, _Base(base, cluster.os, cluster.platform, ""), None)
    release, base_image = _release(cluster, torch_lines, base)
    return _complete(cluster, job, base_image, release)


def _refuse_torch(torch_lines: list[Requirement], base: str) -> None:
    for item in torch_lines:
        message = _(
            "line {line} of the requirements installs a PyTorch over that of {base}",
            line=item.line,
            base=base,
        )
        fix = _(
            "remove torch from the requirements, or leave out --base: the image then has the PyTorch of the line"
        )
        raise WrightError.from_code("image-torch-conflict", message, fix, exit_code=EXIT_USAGE)


def _release(cluster: Cluster, torch_lines: list[Requirement], base: str) -> tuple[Release, _Base]:
    """Return the best release of PyTorch for the cluster, with its base image.

    Raises:
        WrightError: none suits the cluster, or none that suits is the one of the requirements.
    """
    suitable = list(_suitable(cluster, base))
    chosen = [row for row in suitable if all(_is_release(row[0], item) for item in torch_lines)]
    if suitable and not chosen:
        names = ", ".join(sorted({row[0].torch for row in suitable}, key=version))
        raise WrightError.from_code(
            "image-torch-conflict",
            _(
                "torch {version} of the requirements does not suit this cluster",
                version=torch_lines[0].version,
            ),
            _("choose one of {releases}, or remove the line", releases=names),
            exit_code=EXIT_USAGE,
        )
    if not chosen:
        software = cluster.software
        raise WrightError.from_code(
            "image-no-release",
            _(
                "no release of PyTorch suits the GPUs {gpus}, driver {driver} and CUDA {cuda} of the cluster file",
                gpus=", ".join(_gpu_models(cluster)) or "-",
                driver=software.driver or "-",
                cuda=software.cuda or "-",
            ),
            _("pass --base with an image that has PyTorch; see `wright explain driver-too-old`"),
            exit_code=EXIT_USAGE,
        )
    software = cluster.software
    return max(
        chosen,
        key=lambda row: (
            _is_prefix(software.cuda, row[0].cuda),
            row[1].system == cluster.platform.cuda_image,
            _is_prefix(software.nccl, row[0].nccl),
            version(row[0].torch),
        ),
    )


def _suitable(cluster: Cluster, base: str) -> Iterator[tuple[Release, _Base]]:
    software = cluster.software
    generations = [generation for model in _gpu_models(cluster) if (generation := generation_of(model))]
    for release in releases().values():
        has_driver = not software.driver or version(software.driver) >= version(release.driver_min)
        has_cuda = not software.cuda or (
            major(release.cuda) == major(software.cuda) and version(release.cuda) <= version(software.cuda)
        )
        if not (has_driver and has_cuda and all(release.runs_on(needs) for needs in generations)):
            continue
        if base:
            yield release, _Base(base, cluster.os, cluster.platform, "3")
        else:
            yield from islice(((release, base_image) for base_image in _bases(release, cluster.platform)), 1)


def _bases(release: Release, hosts: Platform) -> Iterator[_Base]:
    """Yield the images for a release whose distribution has a Python for it: first that of the hosts."""
    for image in base_images(release.cuda, hosts.cuda_image):
        platform = next(candidate for candidate in platforms() if _is_same_system(image.system, candidate))
        for python in platform.pythons:
            if version(release.python_min) <= version(python) <= version(release.python_max):
                yield _Base(image.reference, image.system, platform, python)
                break


def _is_same_system(system: str, platform: Platform) -> bool:
    """Return whether an image has this distribution itself, not one that resembles it."""
    return platform.cuda_image == system and system.startswith(platform.os_release_id)


def _gpu_models(cluster: Cluster) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.gpus.model for group in cluster.nodes.values() if group.gpus))


def _is_release(release: Release, item: Requirement) -> bool:
    return not item.version or release.torch.partition("+")[0] == item.version.partition("+")[0]


def _is_prefix(setting: str | None, actual: str) -> bool:
    return not setting or f"{actual}.".startswith(f"{setting}.")


def _complete(cluster: Cluster, job: Job | None, base: _Base, release: Release | None) -> ImageChoice:
    family = base.platform.family
    network = cluster.networks.compute
    has_rdma = network is not None and network.kind != "ethernet"
    has_mpi = job is None or _needs_mpi(job)
    is_ngc = release is None  # NGC's images have MPI and the user space of RDMA
    nccl_pin = _nccl_pin(cluster, release)
    packages = _FRAMEWORKS.get(job.framework, ()) if job else ()
    cuda = release.cuda if release else ""
    return ImageChoice(
        base.reference,
        base.system,
        base.platform.package_manager,
        base.python,
        release.torch.partition("+")[0] if release else "",
        cuda,
        release.cudnn if release else "",
        nccl_pin.partition("==")[2] or (release.nccl if release else ""),
        nccl_pin,
        f"{_INDEX}/cu{cuda.replace('.', '')}" if release else "",
        inbox_packages(family, "drivers") if has_rdma and not is_ngc else (),
        inbox_packages(family, "mpi") if has_mpi and not is_ngc else (),
        tuple(name.format(cuda=major(cuda) or 12) for name in packages),
        tuple(sorted({"/home", *(folder.path for folder in cluster.storage.values())})),
        tuple(_notes(cluster, base, release)),
    )


def _needs_mpi(job: Job) -> bool:
    """Return whether mpirun or Slurm starts each rank, by the job's launcher or that of its framework."""
    launchers = (job.launcher, registry.adapter(job.framework).launcher)
    return any(registry.launcher(name).kind == "task" for name in launchers)


def _nccl_pin(cluster: Cluster, release: Release | None) -> str:
    """Return the package of the cluster's NCCL if it is newer than that of PyTorch, which may need its own.

    "" if it is not, if the cluster sets none, or if the release of PyTorch is unknown.
    """
    nccl = cluster.software.nccl
    if release is None or not nccl or _is_prefix(nccl, release.nccl) or version(nccl) < version(release.nccl):
        return ""
    exact = nccl if nccl.count(".") > 1 else f"{nccl}.*"
    return f"nvidia-nccl-cu{major(release.cuda)}=={exact}"


def _notes(cluster: Cluster, base: _Base, release: Release | None) -> Iterator[str]:
    software, rdma = cluster.software, cluster.rdma
    if release is None:
        yield _("the base image has its own PyTorch, CUDA and NCCL: wright does not check them")
        return
    if base.python != "3" and not _is_same_system(base.system, cluster.platform):
        yield _(
            "NVIDIA has no CUDA image of {os}, the system of the hosts: the image has {system} in its place",
            os=cluster.os,
            system=base.system,
        )
    if software.cuda and not _is_prefix(software.cuda, release.cuda):
        yield _(
            "CUDA {other} in place of {cuda}: PyTorch {torch} is not built for the latter",
            other=release.cuda,
            cuda=software.cuda,
            torch=release.torch.partition("+")[0],
        )
    if (
        software.nccl
        and not _is_prefix(software.nccl, release.nccl)
        and version(software.nccl) < version(release.nccl)
    ):
        yield _(
            "the hosts have NCCL {nccl}; PyTorch needs its own {required}",
            nccl=software.nccl,
            required=release.nccl,
        )
    if software.driver and version(software.driver) < version(release.driver):
        yield _(
            "driver {driver} runs CUDA {cuda} by minor-version compatibility; {newer} does without",
            driver=software.driver,
            cuda=release.cuda,
            newer=release.driver,
        )
    if rdma and rdma.driver != "inbox":
        yield _(
            "the hosts have {driver}; the image has the distribution's RDMA libraries, which work with its modules",
            driver=rdma.driver,
        )
