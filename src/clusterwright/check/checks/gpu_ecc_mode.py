"""ECC is enabled on the GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.ecc_now is False:
        yield _("GPU {gpu} has ECC off", gpu=gpu.index), Status.FAIL
    if gpu.ecc_pending is False and gpu.ecc_now:
        yield _("GPU {gpu} will have ECC off after the next reset", gpu=gpu.index), Status.FAIL


@check(gpus, when=has_gpus, fix="run `nvidia-smi -e 1`, then reset the GPU or reboot the host", in_jobs=True)
def gpu_ecc_mode(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """ECC is on, now and after the next reset, on every GPU that supports it."""
    expected = _("ECC mode on, current and pending (imbue-ai/cluster-health)")
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.ecc_now,
        unsupported=_("this GPU model has no ECC"),
    )
