"""GPU memory has no uncorrectable ECC errors."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import human_number

_SRAM = 4  # stas00/ml-engineering: replace a GPU with more uncorrectable SRAM errors in its lifetime
# Azure/azurehpc-health-checks: DRAM up to 20,000,000; facebookresearch/gcm: 50,000,000. Lenient on purpose: all of
# them were corrected, and tighter limits caused false alarms (leptonai/gpud pull requests 108 and 987).
_CORRECTED = 20_000_000


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.uncorrected:
        yield (
            _(
                "GPU {gpu}: uncorrectable ECC errors since the driver was loaded: {count}",
                gpu=gpu.index,
                count=gpu.uncorrected,
            ),
            Status.FAIL,
        )
    if (gpu.uncorrected_sram_aggregate or 0) > _SRAM:
        observed = _(
            "GPU {gpu}: uncorrectable SRAM errors in its lifetime: {count}",
            gpu=gpu.index,
            count=gpu.uncorrected_sram_aggregate,
        )
        yield observed, Status.FAIL, _("drain the host and replace the GPU")
    if (gpu.corrected or 0) > _CORRECTED:
        observed = _(
            "GPU {gpu}: corrected ECC errors since the driver was loaded: {count}",
            gpu=gpu.index,
            count=human_number(gpu.corrected or 0),
        )
        yield (
            observed,
            Status.WARN,
            _("monitor the GPU for uncorrectable errors (checks gpu_remap and gpu_xids)"),
        )


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    fix="drain the host and run `nvidia-smi --gpu-reset -i GPU`; replace the GPU if the errors return",
    in_jobs=True,
)
def gpu_ecc(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU has uncorrectable ECC errors since the driver was loaded, or too many SRAM errors in its lifetime.

    More than 4 such SRAM errors are too many. More than 20 million corrected errors are a warning.
    """
    expected = _(
        "since the driver was loaded no uncorrectable and at most {corrected} corrected memory errors; in a GPU's "
        "lifetime at most {sram} uncorrectable SRAM errors",
        sram=_SRAM,
        corrected=human_number(_CORRECTED),
    )
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.uncorrected,
        unsupported=_("this GPU model has no ECC"),
    )
