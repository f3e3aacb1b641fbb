"""GPUs, and the drivers and libraries that their software needs."""

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
    """Device files lie under /dev, and their name is written without the index that is added."""
    for name, group in cluster.nodes.items():
        if group.gpus is None:
            continue
        devices, loc = group.gpus.devices, ("nodes", name, "gpus", "devices")
        file_hint = f"their files would be {group.gpus.device_files()[0]} and so on"
        if not devices.startswith("/dev/"):
            fix = _("write it as /dev/nvidia")
            yield Clash(
                "gpu-devices",
                _("the GPUs of `{name}` do not lie in /dev: {file_hint}", name=name, file_hint=file_hint),
                fix,
                (loc,),
            )
        elif devices[-1].isdigit():
            fix = _("write it without the index: {devices}", devices=devices.rstrip("0123456789"))
            yield Clash(
                "gpu-devices",
                _("the GPUs of `{name}` end in a number: {file_hint}", name=name, file_hint=file_hint),
                fix,
                (loc,),
            )


def gpu_sockets(cluster: Cluster) -> Iterator[Clash]:
    """One socket for each GPU, and none beyond the last."""
    for name, group in cluster.nodes.items():
        gpus, loc = group.gpus, ("nodes", name, "gpus", "sockets")
        if gpus is None or not gpus.sockets:
            continue
        if len(gpus.sockets) != gpus.count:
            yield Clash(
                "gpu-sockets",
                _(
                    "`{name}` has {count} GPUs a host, and sockets are given for {count2}",
                    name=name,
                    count=gpus.count,
                    count2=len(gpus.sockets),
                ),
                _("name the socket of each GPU, in the order of their device files, or leave the line out"),
                (loc, ("nodes", name, "gpus", "count")),
            )
        for index, socket in enumerate(gpus.sockets):
            if not 0 <= socket < group.cpus.sockets:
                yield Clash(
                    "gpu-sockets",
                    _(
                        "GPU {index} of `{name}` is on socket {socket}; its hosts have {sockets}, from 0 on",
                        index=index,
                        name=name,
                        socket=socket,
                        sockets=group.cpus.sockets,
                    ),
                    _("take the number that `nvidia-smi topo -m` and lscpu say"),
                    ((*loc, index), ("nodes", name, "cpus", "sockets")),
                )


def nvidia_gpus(cluster: Cluster) -> Iterator[Clash]:
    """Kernel modules that know the GPUs, and fabric manager where there are switches."""
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
        yield Clash(
            "kernel-modules-gpu",
            _(
                "the {kind} kernel modules do not know {model} ({arch})",
                kind=kind,
                model=gpus.model,
                arch=arch,
            ),
            _("leave software.nvidia.kernel_modules out: each group then gets those that its GPUs know"),
            (("software", "nvidia", "kernel_modules"), loc),
        )


def _fabric(mode: str, gpus: Gpus, loc: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.gpus import has_nvswitch

    if mode == "never" and has_nvswitch(gpus.model, gpus.count, nvlink=gpus.nvlink):
        yield Clash(
            "fabric-manager-off",
            _(
                "{count} {model} with NVLink hang on NVSwitches, and without fabric manager CUDA "
                "says error 802",
                count=gpus.count,
                model=gpus.model,
            ),
            _("set software.nvidia.fabric_manager to auto"),
            (("software", "nvidia", "fabric_manager"), loc),
        )


VERSION_PARTS = 3  # numbers: 580.95.05, 12.8.1, 9.10.2, 2.27.3, 4.4.1, 1.18.0


def nvidia_versions(cluster: Cluster) -> Iterator[Clash]:
    """Where NVIDIA's software is ours to install, there is a driver, and every version has three numbers."""
    software = cluster.software
    if software.nvidia is None:
        return
    if software.driver is None:
        yield Clash(
            "driver-missing",
            _("NVIDIA's packages are asked for, and no driver"),
            _('name its version, e.g. software.driver: "580.95.05"; or leave software.nvidia out'),
            (("software", "nvidia"),),
        )
    named: dict[tuple[str, ...], str | None] = {
        (name,): getattr(software, name) for name in ("driver", "cuda", "cudnn", "nccl")
    }
    named |= {("nvidia", name): getattr(software.nvidia, name) for name in ("dcgm", "container_toolkit")}
    for loc, which in named.items():
        if which is not None and which.count(".") < VERSION_PARTS - 1:
            yield Clash(
                "version-not-whole",
                _(
                    "{loc} {which} is any of several packages, and hosts have to be equal to the last digit",
                    loc=loc[-1],
                    which=which,
                ),
                _(
                    "name the whole version, three numbers as `apt-cache madison` or `dnf list "
                    "--showduplicates` has it"
                ),
                (("software", *loc),),
            )


def cuda_driver(cluster: Cluster) -> Iterator[Clash]:
    """The driver is of the oldest branch for that CUDA, or newer."""
    driver, cuda = cluster.software.driver, cluster.software.cuda
    if driver is None or cuda is None:
        return
    from clusterwright.catalog.software import major, oldest_driver

    oldest = oldest_driver(cuda)
    if oldest and major(driver) < major(oldest):
        yield Clash(
            "driver-too-old",
            _(
                "CUDA {cuda} asks a driver of {major} or later, and the hosts are to have {driver}",
                cuda=cuda,
                major=major(oldest),
                driver=driver,
            ),
            _("take a driver of {major} or later, or an older CUDA", major=major(oldest)),
            (("software", "driver"), ("software", "cuda")),
        )


def cuda_gpus(cluster: Cluster) -> Iterator[Clash]:
    """No group's GPUs are younger than the toolkit and the driver, and none is given up by them."""
    software = cluster.software
    if not (software.cuda or software.driver):
        return
    from clusterwright.catalog.software import generation_of

    for name, group in cluster.nodes.items():
        needs = generation_of(group.gpus.model) if group.gpus else None
        if group.gpus and needs:
            loc = ("nodes", name, "gpus", "model")
            if software.cuda:
                yield from _cuda(software.cuda, f"{group.gpus.model} of `{name}`", needs, loc)
            if software.driver:
                yield from _driver(software.driver, f"{group.gpus.model} of `{name}`", needs, loc)


def _cuda(cuda: str, gpus: str, needs: Generation, loc: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.software import major, version

    locs = (("software", "cuda"), loc)
    if version(cuda)[:2] < version(needs.cuda_min):
        message = _(
            "CUDA {cuda} compiles nothing for the {gpus}, which came with {cuda_min}",
            cuda=cuda,
            gpus=gpus,
            cuda_min=needs.cuda_min,
        )
        yield Clash(
            "cuda-too-old",
            message,
            _("set software.cuda to {cuda_min} or later", cuda_min=needs.cuda_min),
            locs,
        )
    if needs.cuda_last and major(cuda) > int(needs.cuda_last):
        message = _(
            "CUDA {cuda} compiles nothing for the {gpus}: CUDA {cuda_last} was the last for {arch}",
            cuda=cuda,
            gpus=gpus,
            cuda_last=needs.cuda_last,
            arch=needs.arch,
        )
        yield Clash(
            "cuda-too-new", message, _("set software.cuda to a {cuda_last}", cuda_last=needs.cuda_last), locs
        )


def _driver(driver: str, gpus: str, needs: Generation, loc: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.software import major

    locs = (("software", "driver"), loc)
    if major(driver) < major(needs.driver_min):
        message = _(
            "driver {driver} does not know the {gpus}, which came with {major}",
            driver=driver,
            gpus=gpus,
            major=major(needs.driver_min),
        )
        yield Clash(
            "driver-too-old",
            message,
            _("take a driver of {major} or later", major=major(needs.driver_min)),
            locs,
        )
    if needs.driver_last and major(driver) > int(needs.driver_last):
        message = _(
            "driver {driver} does not run the {gpus}: {driver_last} was the last branch for {arch}",
            driver=driver,
            gpus=gpus,
            driver_last=needs.driver_last,
            arch=needs.arch,
        )
        yield Clash(
            "driver-too-new",
            message,
            _("take a driver of {driver_last}", driver_last=needs.driver_last),
            locs,
        )


_NAMES = {"cudnn": "cuDNN", "nccl": "NCCL"}


def cuda_libraries(cluster: Cluster) -> Iterator[Clash]:
    """Each was released for the major version of CUDA that the file names."""
    cuda = cluster.software.cuda
    versions = {"cudnn": cluster.software.cudnn, "nccl": cluster.software.nccl}
    if cuda is None or not any(versions.values()):
        return
    from clusterwright.catalog.software import cuda_majors, library_for, major

    for library, which in versions.items():
        majors = cuda_majors(library, which) if which else None
        if majors and major(cuda) not in majors:
            majors_text = " and ".join(str(number) for number in sorted(majors))
            alternative = library_for(library, major(cuda))
            yield Clash(
                "library-cuda",
                _(
                    "{names} {which} is made for CUDA {majors_text}, and the hosts are to have {cuda}",
                    names=_NAMES[library],
                    which=which,
                    majors_text=majors_text,
                    cuda=cuda,
                ),
                _(
                    "take {names} {alternative}, or a CUDA {majors}",
                    names=_NAMES[library],
                    alternative=alternative,
                    majors=max(majors),
                )
                if alternative
                else _("take a CUDA {majors}", majors=max(majors)),
                (("software", library), ("software", "cuda")),
            )


_NVIDIA = "https://developer.download.nvidia.com/compute/cuda/repos"  # or what a site's copy has


def gpu_repositories(cluster: Cluster) -> Iterator[Clash]:
    """The repository is named and described; in a lab, which serves stand-ins itself, it may be left out."""
    software = cluster.software
    if software.nvidia and not (cluster.lab and software.nvidia.repository is None):
        url = f"{_NVIDIA}/{cluster.platform.nvidia_repository}/x86_64/"
        yield from _missing(cluster, "nvidia", software.nvidia.repository, url)
    if software.rocm:
        url = "https://repo.radeon.com/rocm/"
        yield from _missing(cluster, "rocm", software.rocm.repository, url)


def _missing(cluster: Cluster, section: str, name: str | None, url: str) -> Iterator[Clash]:
    if name in cluster.software.repositories:
        return
    problem = (
        f"`{name}` is none of software.repositories" if name else "no repository is named for its packages"
    )
    loc = ("software", section, "repository") if name else ("software", section)
    yield Clash(
        "repository-missing",
        f"software.{section}: {problem}",
        _(
            "put it under software.repositories with its key, e.g. {name}: {{url: {url}}}, and "
            "name it as software.{section}.repository",
            name=name or section,
            url=url,
            section=section,
        ),
        (loc,),
    )
