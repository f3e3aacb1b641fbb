"""Nothing in the kernel's log is new to us."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.faults import unknown_kinds
from clusterwright.check.verdict import Status, Verdict

_SHOWN, _WIDE = 5, 100  # kinds, and characters of each: enough to look them up


@check(
    kernel_log,
    mend="read them with `journalctl -k -b -p warning`; a harmless one becomes a row of check/kernel/known.toml",
)
def kernel_lines(_want: Want, have: KernelLog) -> Verdict:
    """Every line of the kernel that warns is one that is known: harmless, or the finding of another check."""
    if have.missing:
        return unknown(have.missing)
    if not have.source:
        return skip("a container has no kernel log of its own")
    found = unknown_kinds(have.lines)
    told = [f"{first[:_WIDE]}{f' ({times} times)' if times > 1 else ''}" for times, first in found.values()]
    more = [f"and {len(told) - _SHOWN} more kinds"] if len(told) > _SHOWN else []
    return expect(
        not found,
        saw=f"not known: {' | '.join([*told[:_SHOWN], *more])}"
        if found
        else "every line that warns is known",
        want="only lines of check/kernel/known.toml, faults.toml and xids.toml",
        otherwise=Status.WARN,
    )
