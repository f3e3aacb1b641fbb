"""CUDA and the driver know the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash

if TYPE_CHECKING:
    from clusterwright.catalog.software import Generation


def cuda_gpus(cluster: Cluster) -> Iterator[Clash]:
    """No group's GPUs are younger than the toolkit and the driver, and none is given up by them."""
    software = cluster.software
    if not (software.cuda or software.driver):
        return
    from clusterwright.catalog.software import generation_of

    for name, group in cluster.nodes.items():
        needs = generation_of(group.gpus.model) if group.gpus else None
        if group.gpus and needs:
            at = ("nodes", name, "gpus", "model")
            if software.cuda:
                yield from _cuda(software.cuda, f"{group.gpus.model} of `{name}`", needs, at)
            if software.driver:
                yield from _driver(software.driver, f"{group.gpus.model} of `{name}`", needs, at)


def _cuda(cuda: str, gpus: str, needs: Generation, at: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.software import major, version

    where = (("software", "cuda"), at)
    if version(cuda)[:2] < version(needs.cuda_min):
        what = f"CUDA {cuda} compiles nothing for the {gpus}, which came with {needs.cuda_min}"
        yield Clash("cuda-too-old", what, f"set software.cuda to {needs.cuda_min} or later", where)
    if needs.cuda_last and major(cuda) > int(needs.cuda_last):
        what = f"CUDA {cuda} compiles nothing for the {gpus}: CUDA {needs.cuda_last} was the last for {needs.arch}"
        yield Clash("cuda-too-new", what, f"set software.cuda to a {needs.cuda_last}", where)


def _driver(driver: str, gpus: str, needs: Generation, at: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.software import major

    where = (("software", "driver"), at)
    if major(driver) < major(needs.driver_min):
        what = f"driver {driver} does not know the {gpus}, which came with {major(needs.driver_min)}"
        yield Clash("driver-too-old", what, f"take a driver of {major(needs.driver_min)} or later", where)
    if needs.driver_last and major(driver) > int(needs.driver_last):
        what = f"driver {driver} does not run the {gpus}: {needs.driver_last} was the last branch for {needs.arch}"
        yield Clash("driver-too-new", what, f"take a driver of {needs.driver_last}", where)
