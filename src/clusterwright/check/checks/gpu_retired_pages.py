"""Few memory pages are retired."""

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
            _("has {pages} retired pages", pages=pages),
            Status.FAIL,
            _("drain the host and replace the GPU: no more can be retired"),
        )
    elif pages > _SOME:
        yield _("has {pages} retired pages", pages=pages), Status.WARN, _("plan its replacement")
    if gpu.retired_pending:
        yield _("waits for a reset to retire a page"), Status.WARN


@check(gpus, when=has_gpus, fix="when the host is idle: reset the GPU (nvidia-smi --gpu-reset -i GPU)")
def gpu_retired_pages(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """GPUs before Ampere, which retire pages in place of remapping rows, have few of them and none pending."""
    expected, unsupported = (
        _("{some} retired pages at most, none pending", some=_SOME),
        _("this model remaps rows: see gpu_remap"),
    )
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.retired_double,
        unsupported=unsupported,
    )
