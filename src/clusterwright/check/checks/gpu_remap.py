"""Broken memory rows are replaced by spare ones."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_MOST = 512  # Azure/azurehpc-health-checks: more uncorrectable rows than a GPU has spare ones
_REPLACE = N_("drain the host and replace the GPU")


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.remap_failed:
        yield _("could not remap a row: replace it"), Status.FAIL, _REPLACE
    elif gpu.remap_pending:
        yield _("waits for a reset to remap a row"), Status.WARN
    if (gpu.remap_uncorrectable or 0) > _MOST:
        yield (
            _(
                "has {remap_uncorrectable} rows remapped after uncorrectable errors",
                remap_uncorrectable=gpu.remap_uncorrectable,
            ),
            Status.FAIL,
            _REPLACE,
        )
    if gpu.banks_without_spare:
        observed = _(
            "has {banks_without_spare} banks of memory without a spare row left",
            banks_without_spare=gpu.banks_without_spare,
        )
        yield (
            observed,
            Status.WARN,
            _("plan its replacement: the next broken row of such a bank cannot be remapped"),
        )


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="when the host is idle: reset the GPU (nvidia-smi --gpu-reset -i GPU) and check again",
)
def gpu_remap(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU waits for a reset to replace a memory row, and none has run out of spare rows."""
    expected = _("no row pending or failed, {most} at most", most=_MOST)
    unsupported = _("this model remaps no rows, or this driver does not say")
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.remap_failed,
        unsupported=unsupported,
    )
