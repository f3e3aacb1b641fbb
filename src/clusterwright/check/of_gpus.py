"""How a check of GPUs answers: one verdict for each GPU that is wrong, or one for all that are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterwright.check.expectation import fault, fine, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.gpus import Driver, Gpu
from clusterwright.check.verdict import Status, Verdict

Wrong = (
    tuple[str, Status] | tuple[str, Status, str]
)  # what was seen, how bad, and another mend than the check's


def has_gpus(want: Want) -> bool:
    """True for a host of which the file says that it has GPUs."""
    return want.host.group.gpus is not None


def has_nvlink(want: Want) -> bool:
    """True for a host of which the file says that NVLink joins its GPUs."""
    gpus = want.host.group.gpus
    return gpus is not None and gpus.nvlink


def each_gpu(
    want: Want,
    have: Driver,
    wrong: Callable[[Gpu], Iterator[Wrong]],
    *,
    wanted: str,
    known: Callable[[Gpu], object],
    silent: str,
) -> Iterator[Verdict]:
    """A fault for everything that `wrong` finds of a GPU, or one verdict for all of them.

    `known` is not None of a GPU that says what is asked; where none does, it is skipped with the reason `silent`.
    """
    if not have.gpus:
        yield no_gpu(want, have, wanted)
        return
    faults = [
        fault(
            saw=f"GPU {gpu.index} {saw}",
            want=wanted,
            part=f"gpu {gpu.index}",
            otherwise=bad,
            mend="".join(mend),
        )
        for gpu in have.gpus
        for saw, bad, *mend in wrong(gpu)
    ]
    if faults:
        yield from faults
    elif all(known(gpu) is None for gpu in have.gpus):
        yield skip(silent)
    else:
        yield fine(saw=f"{len(have.gpus)} GPUs as wanted", want=wanted)


def no_gpu(want: Want, have: Driver, wanted: str) -> Verdict:
    """Why nothing can be said of any GPU."""
    if have.absent and want.cluster.lab:
        return skip("this lab has GPUs as device files alone: the machine had no compiler for their library")
    return unknown(have.why, want=wanted)
