"""The GPUs run at their clocks when they work."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.slowdown import reasons
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_WORKING = 50.0  # ours: percent of the time; below it the clocks may just be resting
_LOWERED = 0.9  # ours: of the highest clock; GpuSlowInJob's share


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    reason = reasons(gpu.slow_reasons or 0)
    if not reason:
        return
    lowered = bool(gpu.sm_mhz and gpu.sm_most_mhz and gpu.sm_mhz < _LOWERED * gpu.sm_most_mhz)
    clocks = (
        _(" at {sm_mhz:g} of {sm_most_mhz:g} MHz", sm_mhz=gpu.sm_mhz, sm_most_mhz=gpu.sm_most_mhz)
        if gpu.sm_mhz and gpu.sm_most_mhz
        else ""
    )
    under_load = (gpu.load_percent or 0.0) >= _WORKING
    state = _("under load") if under_load else _("with little load")
    observed = _(
        "is slowed down ({reason}){clocks} {state}", reason=", ".join(reason), clocks=clocks, state=state
    )
    yield observed, Status.FAIL if lowered and under_load else Status.WARN


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    fix="power brake: see power supplies and cables; heat: see gpu_temperature; else reset the GPU when idle",
)
def gpu_clocks(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU is slowed down by heat or power; it fails where that lowers the clock of a GPU that works."""
    expected = _(
        "no slowdown; under load {lowered:.0%} of the highest clock that the GPU says itself",
        lowered=_LOWERED,
    )
    unsupported = _("this driver does not say why clocks are lowered")
    return gpu_verdicts(
        spec,
        have,
        _wrong,
        expected=expected,
        read_value=lambda gpu: gpu.slow_reasons,
        unsupported=unsupported,
    )
