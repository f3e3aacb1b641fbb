"""Errors in memory are corrected."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import Want
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, each_gpu, has_gpus
from clusterwright.check.verdict import Status, Verdict


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.ecc_now is False:
        yield "has ECC off", Status.FAIL
    if gpu.ecc_pending is False and gpu.ecc_now:
        yield "will have ECC off after the next reset", Status.FAIL


@check(gpus, when=has_gpus, mend="nvidia-smi -e 1, then reset the GPU or reboot")
def gpu_ecc_mode(want: Want, have: Driver) -> Iterator[Verdict]:
    """ECC is on, now and after the next reset, on every GPU that has it."""
    wanted = "ECC on, current and pending (imbue-ai/cluster-health)"
    return each_gpu(
        want, have, _wrong, wanted=wanted, known=lambda gpu: gpu.ecc_now, silent="this model has no ECC"
    )
