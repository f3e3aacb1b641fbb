"""The GPUs are not cut into parts."""

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
        yield _("is in MIG mode"), Status.FAIL


@check(
    gpus,
    when=has_gpus,
    fix="nvidia-smi -mig 0 and a reset; the cluster file names whole GPUs, and gres.conf their device files",
)
def gpu_mig_off(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU is in MIG mode: gres.conf offers whole GPUs, and a job that is given a part of one fails."""
    expected = _("whole GPUs (nodes.{group_name}.gpus; gres.conf)", group_name=spec.host.group_name)
    unsupported = _("this model cannot be cut into parts")
    return gpu_verdicts(
        spec, have, _wrong, expected=expected, read_value=lambda gpu: gpu.mig, unsupported=unsupported
    )
