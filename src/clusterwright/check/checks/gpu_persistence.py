"""Persistence mode is on."""

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
        yield _("GPU {gpu} has persistence mode off", gpu=gpu.index), Status.WARN


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "boot"),
    fix="run `systemctl enable --now nvidia-persistenced`, or `nvidia-smi -pm 1`",
    in_jobs=True,
)
def gpu_persistence(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """Persistence mode is on: otherwise the driver unloads after each job, and the next job waits seconds per GPU."""
    expected = _("persistence mode on (NVIDIA/deepops)")
    unsupported = _("this driver does not report persistence mode")
    return gpu_verdicts(
        spec, have, _wrong, expected=expected, read_value=lambda gpu: gpu.persistent, unsupported=unsupported
    )
