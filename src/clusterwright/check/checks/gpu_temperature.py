"""GPUs are below their slowdown temperature."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_THERMAL = 0x20 | 0x40  # NVML: software and hardware thermal slowdown
_MIN_MARGIN_C = 5.0  # ours: a healthy H100 has a margin of 46 C idle and 26 C under full load (driver 590)


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if (gpu.slow_reasons or 0) & _THERMAL:
        yield (
            _(
                "GPU {gpu}: thermal slowdown at {temperature:g} C",
                gpu=gpu.index,
                temperature=gpu.temperature_c,
            ),
            Status.FAIL,
        )
    elif gpu.margin_c is not None and gpu.margin_c <= _MIN_MARGIN_C:
        yield (
            _(
                "GPU {gpu}: {temperature:g} C, {margin:g} C below its slowdown temperature",
                gpu=gpu.index,
                temperature=gpu.temperature_c,
                margin=gpu.margin_c,
            ),
            Status.WARN,
        )


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    fix="check fans, cold plates and inlet temperature; compare with the GPU in the same slot of another host",
    in_jobs=True,
)
def gpu_temperature(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU is in thermal slowdown, or within 5 C of it where the driver reports the margin (from driver 535)."""
    expected = _(
        "no thermal slowdown, more than {margin:g} C below the slowdown temperature", margin=_MIN_MARGIN_C
    )
    unsupported = _("this driver does not report the temperature")
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.temperature_c,
        unsupported=unsupported,
    )
