"""Few GPU memory pages are retired."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_SOME = 10  # facebookresearch/gcm
_MOST = 62  # Azure/azurehpc-health-checks, for V100: the InfoROM holds 64


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    pages = (gpu.retired_single or 0) + (gpu.retired_double or 0)
    if pages >= _MOST:
        yield (
            _("GPU {gpu}: retired memory pages: {count}", gpu=gpu.index, count=pages),
            Status.FAIL,
            _("drain the host and replace the GPU: it cannot retire more pages"),
        )
    elif pages > _SOME:
        observed = _("GPU {gpu}: retired memory pages: {count}", gpu=gpu.index, count=pages)
        yield (
            observed,
            Status.WARN,
            _("plan the replacement of the GPU: it cannot retire many more memory pages"),
        )
    if gpu.retired_pending:
        yield _("GPU {gpu} needs a reset to retire a memory page", gpu=gpu.index), Status.WARN


@check(gpus, when=has_gpus, fix="drain the host and run `nvidia-smi --gpu-reset -i GPU`", in_jobs=True)
def gpu_retired_pages(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """GPUs before Ampere (page retirement, not row remapping) have few retired pages and none pending.

    More than 10 or a pending one is a warning, 62 a failure.
    """
    expected, unsupported = (
        _("at most {most} retired memory pages, none of them pending", most=_SOME),
        _("this GPU model remaps rows instead; see gpu_remap"),
    )
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.retired_double,
        unsupported=unsupported,
    )
