"""GPUs under load run at their clocks."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.slowdown import reasons
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_WORKING = 50.0  # ours: percent utilization; below it the clocks may be idle clocks
_LOWERED = 0.9  # ours: of the highest clock; GpuSlowInJob's share


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    reason = reasons(gpu.slow_reasons or 0)
    if not reason:
        return
    lowered = bool(gpu.sm_mhz and gpu.sm_most_mhz and gpu.sm_mhz < _LOWERED * gpu.sm_most_mhz)
    under_load = (gpu.load_percent or 0.0) >= _WORKING
    text = (
        _("GPU {gpu} is throttled under load by {reason}; SM clock {clock} of {most} MHz")
        if under_load
        else _("GPU {gpu} is throttled by {reason}; SM clock {clock} of {most} MHz")
    )
    clock, most = (f"{mhz:g}" if mhz else "?" for mhz in (gpu.sm_mhz, gpu.sm_most_mhz))
    observed = text.format(gpu=gpu.index, reason=", ".join(reason), clock=clock, most=most)
    yield observed, Status.FAIL if lowered and under_load else Status.WARN


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    fix="power brake slowdown: check power supplies and cables; thermal slowdown: see gpu_temperature; otherwise "
    "reset the idle GPU with `nvidia-smi --gpu-reset -i GPU`",
    in_jobs=True,
)
def gpu_clocks(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU is throttled by heat or power; a failure where that lowers the SM clock under load."""
    expected = _("no throttling; under load at least {share:.0%} of clocks.max.sm", share=_LOWERED)
    unsupported = _("this driver does not report clock event reasons")
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.slow_reasons,
        unsupported=unsupported,
    )
