"""The GPUs are cool enough."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_THERMAL = 0x20 | 0x40  # NVML: clocks lowered for heat by the driver, by the hardware
_MIN_MARGIN_C = 5.0  # ours: a sound H100 has 46 C idle and 26 C in full load (a capture of driver 590)


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if (gpu.slow_reasons or 0) & _THERMAL:
        yield (
            _("is slowed down for heat at {temperature_c:g} C", temperature_c=gpu.temperature_c),
            Status.FAIL,
        )
    elif gpu.margin_c is not None and gpu.margin_c <= _MIN_MARGIN_C:
        yield (
            _(
                "is at {temperature_c:g} C, {margin_c:g} C below where it slows down",
                temperature_c=gpu.temperature_c,
                margin_c=gpu.margin_c,
            ),
            Status.WARN,
        )


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    fix="see fans, cold plate and inlet temperature; compare with the GPU in the same place of another host",
)
def gpu_temperature(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU is slowed down for heat, or near to it where the driver says its margin (from driver 535)."""
    expected = _(
        "no thermal slowdown, more than {min_margin_c:g} C of the margin that the GPU says itself",
        min_margin_c=_MIN_MARGIN_C,
    )
    unsupported = _("this driver says no temperature")
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.temperature_c,
        unsupported=unsupported,
    )
