"""Verdicts of GPU checks: one for each faulty GPU, or one for all GPUs of the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterwright.check.expectation import fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _, _n

# The observed text, its status, and a fix that replaces the check's.
Wrong = tuple[str, Status] | tuple[str, Status, str]


def has_gpus(spec: HostSpec) -> bool:
    """True for a host whose node group declares GPUs."""
    return spec.host.group.gpus is not None


def has_nvlink(spec: HostSpec) -> bool:
    """True for a host whose node group declares NVLink between its GPUs."""
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
    """Yield a fault for each problem that `wrong` finds on a GPU, else one verdict for all GPUs.

    `read_value` returns None for a GPU that does not report the value; where no GPU reports it, the check is
    skipped with the reason `unsupported`. Where no GPU answers the driver, the verdict is that of `no_gpu`.
    """
    if not have.gpus:
        yield no_gpu(spec, have, expected)
        return
    faults = [
        fault(observed=observed, expected=expected, part=f"gpu {gpu.index}", otherwise=bad, fix="".join(fix))
        for gpu in have.gpus
        for observed, bad, *fix in wrong(gpu)
    ]
    if faults:
        yield from faults
    elif all(read_value(gpu) is None for gpu in have.gpus):
        yield skip(unsupported)
    else:
        yield fine(
            observed=_n("{count} GPU in order", "{count} GPUs in order", len(have.gpus)), expected=expected
        )


def no_gpu(spec: HostSpec, have: Driver, expected: str) -> Verdict:
    """Return the verdict for a host where nvidia-smi lists no GPU: unknown; skipped in a lab without nvidia-smi."""
    if have.absent and spec.cluster.lab:
        return skip(
            _(
                "the GPUs of this lab are device files only: the machine had no C compiler for the simulated NVML"
            )
        )
    return unknown(have.reason, expected=expected)
