"""Swap is off where jobs run."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.verdict import Status, Verdict
from clusterwright.units import GiB


def _is_compute(want: Want) -> bool:
    return want.is_compute


def _in_lab(want: Want) -> str:
    return "swap is the machine's, not the lab host's" if want.cluster.lab else ""


@check(memory, when=_is_compute, unless=_in_lab, mend="swapoff -a, and take the swap line out of /etc/fstab")
def swap_off(_want: Want, have: Memory) -> Verdict:
    """A compute host has no swap: one rank that swaps holds up all the others."""
    return expect(
        not have.swap_bytes,
        saw=f"{have.swap_bytes / GiB:.3g} GiB of swap",
        want="none",
        otherwise=Status.WARN,
    )
