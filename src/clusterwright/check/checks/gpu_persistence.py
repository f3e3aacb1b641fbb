"""The driver stays loaded."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.persistent is False:
        yield _("has persistence mode off"), Status.WARN


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "boot"),
    fix="systemctl enable --now nvidia-persistenced, or nvidia-smi -pm 1",
)
def gpu_persistence(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """Persistence mode is on: else the driver unloads after each job, and the next one waits seconds for each GPU."""
    expected = _("persistence mode on (NVIDIA/deepops)")
    unsupported = _("this driver does not say its persistence mode")
    return gpu_verdicts(
        spec, have, _wrong, expected=expected, read_value=lambda gpu: gpu.persistent, unsupported=unsupported
    )
