"""MIG is off on the GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.mig:
        yield _("GPU {gpu} is in MIG mode", gpu=gpu.index), Status.FAIL


@check(
    gpus,
    when=has_gpus,
    fix="run `nvidia-smi -mig 0` and reset the GPU: gres.conf lists the device files of whole GPUs",
)
def gpu_mig_off(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU is in MIG mode: gres.conf lists whole GPUs, and a job on a partitioned one fails."""
    expected = _("MIG mode off (nodes.{group}.gpus declares whole GPUs)", group=spec.host.group_name)
    unsupported = _("this GPU model has no MIG")
    return gpu_verdicts(
        spec, have, _wrong, expected=expected, read_value=lambda gpu: gpu.mig, unsupported=unsupported
    )
