"""The GPUs' own memory of themselves is sound."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault
from clusterwright.check.fact import Want
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, each_gpu, has_gpus
from clusterwright.check.verdict import Status, Verdict

_WANT = "no warning of nvidia-smi, a valid checksum"


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.inforom is not None and gpu.inforom.lower() != "valid":
        yield f"has an InfoROM that is {gpu.inforom}", Status.WARN


@check(
    gpus,
    when=has_gpus,
    mend="ask the vendor: retired pages and error counts are kept there, and may be lost",
)
def gpu_inforom(want: Want, have: Driver) -> Iterator[Verdict]:
    """No InfoROM is corrupted."""
    warned = [line for line in have.said if "inforom" in line.lower()]
    if warned:
        yield from (fault(saw=line, want=_WANT, otherwise=Status.WARN) for line in warned)
        return
    yield from each_gpu(want, have, _wrong, wanted=_WANT, known=lambda gpu: gpu.index, silent="")
