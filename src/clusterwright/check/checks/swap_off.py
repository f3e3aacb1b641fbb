"""Swap is off where jobs run."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import Want
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.facts.swaps import Swaps, swaps
from clusterwright.check.verdict import Status, Verdict
from clusterwright.units import GiB


def _is_compute(want: Want) -> bool:
    return want.is_compute


def _in_lab(want: Want) -> str:
    return "swap is the machine's, not the lab host's" if want.cluster.lab else ""


@check(
    (memory, swaps),
    when=_is_compute,
    unless=_in_lab,
    mend="apply the cluster file again: it switches swap off and masks swap.target; fix /etc/fstab by hand",
)
def swap_off(want: Want, have: Memory, where: Swaps) -> Verdict:
    """A compute host has no swap: one rank that swaps holds up all the others."""
    if want.cluster.system.swap:
        return skip("system.swap allows it")
    named = "; ".join(
        [f"on {', '.join(where.active)}"] * bool(where.active)
        + [f"/etc/fstab names {', '.join(where.fstab)}"] * bool(where.fstab)
    )
    return expect(
        not have.swap_bytes,
        saw=f"{have.swap_bytes / GiB:.3g} GiB of swap{f' ({named})' if named else ''}",
        want="none",
        otherwise=Status.WARN,
    )
