"""The memory of the GPUs is sound."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_SRAM = 4  # stas00/ml-engineering: with more uncorrectable errors of SRAM in its life a GPU is replaced
# Azure/azurehpc-health-checks: DRAM up to 20,000,000; facebookresearch/gcm: 50,000,000. Lenient on purpose: all of
# them were corrected, and tighter limits have given false alarms (leptonai/gpud pull requests 108 and 987).
_CORRECTED = 20_000_000


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.uncorrected:
        yield (
            _(
                "has {uncorrected} uncorrectable ECC errors since the driver was loaded",
                uncorrected=gpu.uncorrected,
            ),
            Status.FAIL,
        )
    if (gpu.uncorrected_sram_aggregate or 0) > _SRAM:
        observed = _(
            "had {uncorrected_sram_aggregate} uncorrectable errors in SRAM in its life",
            uncorrected_sram_aggregate=gpu.uncorrected_sram_aggregate,
        )
        yield observed, Status.FAIL, _("drain the host and replace the GPU")
    if (gpu.corrected or 0) > _CORRECTED:
        observed = _(
            "has {corrected} corrected ECC errors since the driver was loaded", corrected=gpu.corrected
        )
        yield (
            observed,
            Status.WARN,
            _("watch it: see whether uncorrectable ones follow (gpu_remap, gpu_xids)"),
        )


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    fix="drain the host and reset the GPU (nvidia-smi --gpu-reset -i GPU); replace it if they come again",
)
def gpu_ecc(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU has an uncorrectable memory error since the driver was loaded, nor too many in its life."""
    expected = _(
        "no uncorrectable error, {sram} of SRAM in a GPU's life at most, {corrected:.0e} corrected",
        sram=_SRAM,
        corrected=_CORRECTED,
    )
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.uncorrected,
        unsupported=_("this model has no ECC"),
    )
