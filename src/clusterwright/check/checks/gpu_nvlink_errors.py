"""NVLinks have no growing error counters."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.nvlink_errors import nvlink_errors
from clusterwright.check.of_gpus import has_nvlink
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("no growth of NVLink CRC, replay and recovery counters in 2 s (facebookresearch/gcm: zero)")


@check(
    nvlink_errors,
    when=has_nvlink,
    on=("deploy", "periodic", "burn-in"),
    fix="if the errors continue, drain the host, reset its GPUs, and reseat the NVLink bridge or baseboard; see "
    "gpu_xids for Xid 74",
    in_jobs=True,
)
def gpu_nvlink_errors(_spec: HostSpec, have: dict[str, int]) -> Iterator[Verdict]:
    """No NVLink error counter grows during the check; older totals are ignored.

    A growing one is a warning.
    """
    for name, grown in have.items():
        gpu = name.split(",")[0].removeprefix("GPU ")
        yield fault(
            observed=_(
                "the NVLink error counter {counter} grew by {count} in 2 s", counter=name, count=grown
            ),
            expected=_(_EXPECTED),
            part=f"gpu {gpu}",
            otherwise=Status.WARN,
        )
    if not have:
        yield fine(observed=_("no error counter of an NVLink grows"), expected=_(_EXPECTED))
