"""Rules about GPUs, their drivers and libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.software import Generation
    from clusterwright.config.nodes import Gpus


def gpus(cluster: Cluster) -> Iterator[Clash]:
    """Check that device files are below /dev, and `devices` is written without an index."""
    for name, group in cluster.nodes.items():
        if group.gpus is None:
            continue
        devices, loc = group.gpus.devices, ("nodes", name, "gpus", "devices")
        values = {"name": name, "file": group.gpus.device_files()[0]}
        if not devices.startswith("/dev/"):
            message = _(
                "the GPU device files of `{name}` are not in /dev; the first would be {file}", **values
            )
            yield Clash(
                "gpu-devices", message, _("write the path of the GPU device files as /dev/nvidia"), (loc,)
            )
        elif devices[-1].isdigit():
            message = _(
                "the GPU devices of `{name}` end in a number; the first file would be {file}", **values
            )
            fix = _(
                "write the path of the device files without the index: {devices}",
                devices=devices.rstrip("0123456789"),
            )
            yield Clash("gpu-devices", message, fix, (loc,))


def gpu_sockets(cluster: Cluster) -> Iterator[Clash]:
    """Check that `gpus.sockets`, if set, has one entry for each GPU, each an existing socket."""
    for name, group in cluster.nodes.items():
        gpus, loc = group.gpus, ("nodes", name, "gpus", "sockets")
        if gpus is None or not gpus.sockets:
            continue
        if len(gpus.sockets) != gpus.count:
            yield Clash(
                "gpu-sockets",
                _(
                    "`{name}` has {gpus} GPUs per host, but gpus.sockets has {sockets} items",
                    name=name,
                    gpus=gpus.count,
                    sockets=len(gpus.sockets),
                ),
                _("list the socket of each GPU, in the order of their device files, or remove the line"),
                (loc, ("nodes", name, "gpus", "count")),
            )
        for index, socket in enumerate(gpus.sockets):
            if not 0 <= socket < group.cpus.sockets:
                yield Clash(
                    "gpu-sockets",
                    _(
                        "GPU {index} of `{name}` is on socket {socket}, but the last socket of its hosts is {last}",
                        index=index,
                        name=name,
                        socket=socket,
                        last=group.cpus.sockets - 1,
                    ),
                    _("use the socket numbers of `nvidia-smi topo -m` and lscpu"),
                    ((*loc, index), ("nodes", name, "cpus", "sockets")),
                )


def nvidia_gpus(cluster: Cluster) -> Iterator[Clash]:
    """Check that the kernel modules support the GPUs, and hosts with NVSwitch have fabric manager.

    Only with `software.nvidia`.
    """
    section = cluster.software.nvidia
    if section is None:
        return
    for name, group in cluster.nodes.items():
        if group.gpus:
            loc = ("nodes", name, "gpus", "model")
            yield from _modules(section.kernel_modules, group.gpus, loc)
            yield from _fabric(section.fabric_manager, group.gpus, loc)


def _modules(kind: str, gpus: Gpus, loc: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.gpus import CLOSED_ONLY, OPEN_ONLY, architecture

    arch = architecture(gpus.model)
    unsupported_archs = {"open": CLOSED_ONLY, "proprietary": OPEN_ONLY}.get(kind, frozenset())
    if arch in unsupported_archs:
        values = {"kind": kind, "model": gpus.model, "arch": arch}
        message = _("the {kind} kernel modules do not support {model} ({arch})", **values)
        fix = _("remove software.nvidia.kernel_modules: each group then gets the modules for its GPUs")
        yield Clash("kernel-modules-gpu", message, fix, (("software", "nvidia", "kernel_modules"), loc))


def _fabric(mode: str, gpus: Gpus, loc: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.gpus import has_nvswitch

    if mode == "never" and has_nvswitch(gpus.model, gpus.count, nvlink=gpus.nvlink):
        yield Clash(
            "fabric-manager-off",
            _(
                "{count} {model} with NVLink need fabric manager for NVSwitch; without it CUDA fails with error 802",
                count=gpus.count,
                model=gpus.model,
            ),
            _("set software.nvidia.fabric_manager to auto"),
            (("software", "nvidia", "fabric_manager"), loc),
        )


VERSION_PARTS = 3  # of 580.95.05, 12.8.1, 9.10.2, 2.27.3, 4.4.1, 1.18.0


def nvidia_versions(cluster: Cluster) -> Iterator[Clash]:
    """Check that with `software.nvidia` the driver version is set, and every version has three numbers.

    Versions that are not set are not checked.
    """
    software = cluster.software
    if software.nvidia is None:
        return
    if software.driver is None:
        yield Clash(
            "driver-missing",
            _("software.nvidia is set, but software.driver is not"),
            _('set the version of the driver, e.g. software.driver: "580.95.05"; or remove software.nvidia'),
            (("software", "nvidia"),),
        )
    named: dict[tuple[str, ...], str | None] = {
        (name,): getattr(software, name) for name in ("driver", "cuda", "cudnn", "nccl")
    }
    named |= {("nvidia", name): getattr(software.nvidia, name) for name in ("dcgm", "container_toolkit")}
    for loc, which in named.items():
        if which is not None and which.count(".") < VERSION_PARTS - 1:
            message = _(
                "{field} {version} matches several packages, but all hosts need the same one",
                field=loc[-1],
                version=which,
            )
            fix = _(
                "write the full version, three numbers as in `apt-cache madison` or `dnf list --showduplicates`"
            )
            yield Clash("version-not-whole", message, fix, (("software", *loc),))


def cuda_driver(cluster: Cluster) -> Iterator[Clash]:
    """Check that the driver is recent enough for the CUDA version, if both are set and that CUDA is known."""
    driver, cuda = cluster.software.driver, cluster.software.cuda
    if driver is None or cuda is None:
        return
    from clusterwright.catalog.software import major, oldest_driver

    oldest = oldest_driver(cuda)
    if oldest and major(driver) < major(oldest):
        values = {"cuda": cuda, "oldest": major(oldest), "driver": driver}
        message = _("CUDA {cuda} needs driver {oldest} or later, but software.driver is {driver}", **values)
        fix = _("set software.driver to {oldest} or later, or use an older CUDA", oldest=major(oldest))
        yield Clash("driver-too-old", message, fix, (("software", "driver"), ("software", "cuda")))


def cuda_gpus(cluster: Cluster) -> Iterator[Clash]:
    """Check that CUDA and the driver, as far as set, support the GPUs of each group; unknown models pass."""
    software = cluster.software
    if not (software.cuda or software.driver):
        return
    from clusterwright.catalog.software import generation_of

    for name, group in cluster.nodes.items():
        needs = generation_of(group.gpus.model) if group.gpus else None
        if group.gpus and needs:
            loc = ("nodes", name, "gpus", "model")
            if software.cuda:
                yield from _cuda(software.cuda, group.gpus.model, needs, loc)
            if software.driver:
                yield from _driver(software.driver, group.gpus.model, needs, loc)


def _cuda(cuda: str, model: str, needs: Generation, loc: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.software import major, version

    values, locs = {"cuda": cuda, "model": model, "arch": needs.arch}, (("software", "cuda"), loc)
    if version(cuda)[:2] < version(needs.cuda_min):
        message = _(
            "CUDA {cuda} does not support {model}; the first is {oldest}", oldest=needs.cuda_min, **values
        )
        fix = _("set software.cuda to {oldest} or later", oldest=needs.cuda_min)
        yield Clash("cuda-too-old", message, fix, locs)
    if needs.cuda_last and major(cuda) > int(needs.cuda_last):
        last = needs.cuda_last
        message = _(
            "CUDA {cuda} does not support {model}: CUDA {last} is the last for {arch}", last=last, **values
        )
        yield Clash("cuda-too-new", message, _("set software.cuda to a version {last}", last=last), locs)


def _driver(driver: str, model: str, needs: Generation, loc: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.software import major

    values, locs = {"driver": driver, "model": model, "arch": needs.arch}, (("software", "driver"), loc)
    if major(driver) < major(needs.driver_min):
        oldest = major(needs.driver_min)
        message = _(
            "driver {driver} does not support {model}; the first driver that does is {oldest}",
            oldest=oldest,
            **values,
        )
        yield Clash(
            "driver-too-old", message, _("set software.driver to {oldest} or later", oldest=oldest), locs
        )
    if needs.driver_last and major(driver) > int(needs.driver_last):
        last = needs.driver_last
        message = _(
            "driver {driver} does not support {model}: {last} is the last branch for {arch}",
            last=last,
            **values,
        )
        yield Clash("driver-too-new", message, _("set software.driver to a version {last}", last=last), locs)


_NAMES = {"cudnn": "cuDNN", "nccl": "NCCL"}


def cuda_libraries(cluster: Cluster) -> Iterator[Clash]:
    """Check that the versions of cuDNN and NCCL were released for the major version of CUDA in the file.

    Unset and unknown versions pass.
    """
    cuda = cluster.software.cuda
    versions = {"cudnn": cluster.software.cudnn, "nccl": cluster.software.nccl}
    if cuda is None or not any(versions.values()):
        return
    from clusterwright.catalog.software import cuda_majors, library_for, major

    for library, which in versions.items():
        majors = cuda_majors(library, which) if which else None
        if majors and major(cuda) not in majors:
            alternative = library_for(library, major(cuda))
            values = {"library": _NAMES[library], "version": which, "cuda": cuda}
            majors_text = ", ".join(str(number) for number in sorted(majors))
            message = _(
                "{library} {version} needs CUDA {majors}, but software.cuda is {cuda}",
                majors=majors_text,
                **values,
            )
            if alternative:
                fix = _(
                    "use {library} {version}, or CUDA {major}",
                    library=_NAMES[library],
                    version=alternative,
                    major=max(majors),
                )
            else:
                fix = _("use CUDA {major}", major=max(majors))
            yield Clash("library-cuda", message, fix, (("software", library), ("software", "cuda")))


_NVIDIA = "https://developer.download.nvidia.com/compute/cuda/repos"  # or a mirror of the site


def gpu_repositories(cluster: Cluster) -> Iterator[Clash]:
    """Check that the repository of `software.nvidia` and `rocm` is set and declared.

    A lab serves NVIDIA's itself if none is set.
    """
    software = cluster.software
    if software.nvidia and not (cluster.lab and software.nvidia.repository is None):
        on_system, _loc = cluster.first_system("compute")
        url = f"{_NVIDIA}/{on_system.platform.nvidia_repository}/x86_64/"
        yield from _missing(cluster, "nvidia", software.nvidia.repository, url)
    if software.rocm:
        url = "https://repo.radeon.com/rocm/"
        yield from _missing(cluster, "rocm", software.rocm.repository, url)


def _missing(cluster: Cluster, section: str, name: str | None, url: str) -> Iterator[Clash]:
    if name in cluster.software.repositories:
        return
    loc = ("software", section, "repository") if name else ("software", section)
    if name:
        message = _(
            "software.{section}.repository is `{name}`, which software.repositories lacks",
            section=section,
            name=name,
        )
    else:
        message = _("software.{section} has no repository for its packages", section=section)
    fix = _(
        "add the repository to software.repositories with its key, e.g. {name}: {{url: {url}}}, and set "
        "software.{section}.repository to its name",
        name=name or section,
        url=url,
        section=section,
    )
    yield Clash("repository-missing", message, fix, (loc,))
