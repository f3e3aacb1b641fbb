"""The NVIDIA driver has the declared version."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def _declared(spec: HostSpec) -> bool:
    return has_gpus(spec) and spec.cluster.software.driver is not None


@check(
    gpus,
    when=_declared,
    field="software.driver",
    on=("deploy", "periodic", "boot"),
    fix="install the declared driver and reboot the host: library and kernel module must match",
)
def gpu_driver(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """The running NVIDIA driver has the declared version."""
    declared = spec.cluster.software.driver or ""

    def wrong(gpu: Gpu) -> Iterator[Wrong]:
        if gpu.driver != declared and not gpu.driver.startswith(f"{declared}."):
            yield _("GPU {gpu} has driver {version}", gpu=gpu.index, version=gpu.driver), Status.FAIL

    expected = _("driver {version} (software.driver)", version=declared)
    return gpu_verdicts(
        spec, have, wrong, expected=expected, read_value=lambda gpu: gpu.driver, unsupported=""
    )
