"""GPU memory rows are remapped, and spare rows are left."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_MOST = 512  # Azure/azurehpc-health-checks: more than a GPU has spare rows
_REPLACE = N_("drain the host and replace the GPU")


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.remap_failed:
        yield _("GPU {gpu} failed to remap a memory row", gpu=gpu.index), Status.FAIL, _(_REPLACE)
    elif gpu.remap_pending:
        yield _("GPU {gpu} needs a reset to remap a memory row", gpu=gpu.index), Status.WARN
    if (gpu.remap_uncorrectable or 0) > _MOST:
        yield (
            _(
                "GPU {gpu}: memory rows remapped after uncorrectable errors: {count}",
                gpu=gpu.index,
                count=gpu.remap_uncorrectable,
            ),
            Status.FAIL,
            _(_REPLACE),
        )
    if gpu.banks_without_spare:
        observed = _(
            "GPU {gpu}: memory banks without a spare row: {count}",
            gpu=gpu.index,
            count=gpu.banks_without_spare,
        )
        yield (
            observed,
            Status.WARN,
            _("plan the replacement of the GPU: the next bad row of such a bank cannot be remapped"),
        )


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="drain the host, run `nvidia-smi --gpu-reset -i GPU`, and check again",
    in_jobs=True,
)
def gpu_remap(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU needs a reset to remap a memory row, and none has run out of spare rows.

    A failed remapping, or more than 512 remapped rows, is a failure, the rest a warning.
    """
    expected = _(
        "no memory row waits for remapping or could not be remapped; at most {most} remapped rows", most=_MOST
    )
    unsupported = _("this GPU model or driver does not report row remapping")
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.remap_failed,
        unsupported=unsupported,
    )
