"""How a check of GPUs answers: one verdict for each GPU that is wrong, or one for all that are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterwright.check.expectation import fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

Wrong = (
    tuple[str, Status] | tuple[str, Status, str]
)  # what was seen, how bad, and another fix than the check's


def has_gpus(spec: HostSpec) -> bool:
    """True for a host of which the file says that it has GPUs."""
    return spec.host.group.gpus is not None


def has_nvlink(spec: HostSpec) -> bool:
    """True for a host of which the file says that NVLink joins its GPUs."""
    gpus = spec.host.group.gpus
    return gpus is not None and gpus.nvlink


def gpu_verdicts(
    spec: HostSpec,
    have: Driver,
    wrong: Callable[[Gpu], Iterator[Wrong]],
    *,
    expected: str,
    read_value: Callable[[Gpu], object],
    unsupported: str,
) -> Iterator[Verdict]:
    """A fault for everything that `wrong` finds of a GPU, or one verdict for all of them.

    `read_value` gives None for a GPU that does not report the value; where none does, the check is skipped with the
    reason `unsupported`.
    """
    if not have.gpus:
        yield no_gpu(spec, have, expected)
        return
    faults = [
        fault(
            observed=_("GPU {index} {observed}", index=gpu.index, observed=observed),
            expected=expected,
            part=_("gpu {index}", index=gpu.index),
            otherwise=bad,
            fix="".join(fix),
        )
        for gpu in have.gpus
        for observed, bad, *fix in wrong(gpu)
    ]
    if faults:
        yield from faults
    elif all(read_value(gpu) is None for gpu in have.gpus):
        yield skip(unsupported)
    else:
        yield fine(observed=_("{count} GPUs as wanted", count=len(have.gpus)), expected=expected)


def no_gpu(spec: HostSpec, have: Driver, expected: str) -> Verdict:
    """Why nothing can be said of any GPU."""
    if have.absent and spec.cluster.lab:
        return skip(
            _("this lab has GPUs as device files alone: the machine had no compiler for their library")
        )
    return unknown(have.reason, expected=expected)
