"""The driver is the declared one."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import Want
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, each_gpu, has_gpus
from clusterwright.check.verdict import Status, Verdict


def _declared(want: Want) -> bool:
    return has_gpus(want) and want.cluster.software.driver is not None


@check(
    gpus,
    when=_declared,
    field="software.driver",
    on=("deploy", "periodic", "boot"),
    mend="install the declared driver and reboot: library and kernel module change together",
)
def gpu_driver(want: Want, have: Driver) -> Iterator[Verdict]:
    """The driver that runs is the one that the file names."""
    declared = want.cluster.software.driver or ""

    def wrong(gpu: Gpu) -> Iterator[Wrong]:
        if gpu.driver != declared and not gpu.driver.startswith(f"{declared}."):
            yield f"has driver {gpu.driver}", Status.FAIL

    wanted = f"driver {declared} (software.driver)"
    return each_gpu(want, have, wrong, wanted=wanted, known=lambda gpu: gpu.driver, silent="")
