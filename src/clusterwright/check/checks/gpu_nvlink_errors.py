"""The NVLinks carry what they are given."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.nvlink_errors import nvlink_errors
from clusterwright.check.of_gpus import has_nvlink
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("no counter of CRC, replay or recovery that grows while we look (facebookresearch/gcm: zero)")


@check(
    nvlink_errors,
    when=has_nvlink,
    on=("deploy", "periodic", "burn-in"),
    fix="drain the host when they go on: reset its GPUs, reseat the bridge or baseboard, see gpu_xids for 74",
)
def gpu_nvlink_errors(_spec: HostSpec, have: dict[str, int]) -> Iterator[Verdict]:
    """No error counter of an NVLink grows; a total from last week is no finding."""
    for name, grown in have.items():
        gpu = name.split(",")[0].removeprefix("GPU ")
        yield fault(
            observed=_("{name} grew by {grown} in 2 s", name=name, grown=grown),
            expected=_EXPECTED,
            part=_("gpu {gpu}", gpu=gpu),
            otherwise=Status.WARN,
        )
    if not have:
        yield fine(observed=_("none grows"), expected=_EXPECTED)
