"""Every kernel warning is known."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.faults import unknown_kinds
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _, _n

_MAX_KINDS, _WIDE = 5, 100  # ours: kinds shown, and characters of each


@check(
    kernel_log,
    fix="read the lines with `journalctl -k -b -p warning`; add a harmless one to check/kernel/known.toml",
)
def kernel_lines(_spec: HostSpec, have: KernelLog) -> Verdict:
    """Every warning of the kernel is known: harmless (known.toml), or a finding of another check.

    An unknown one is a warning.
    """
    if have.missing:
        return unknown(have.missing)
    if not have.source:
        return skip(_("a container has no kernel log"))
    kinds = unknown_kinds(have.lines)
    lines = [f"{line[:_WIDE]}{f' ({times} times)' if times > 1 else ''}" for times, line in kinds.values()]
    more = (
        [_n("and {count} more kind", "and {count} more kinds", len(lines) - _MAX_KINDS)]
        if len(lines) > _MAX_KINDS
        else []
    )
    return expect(
        not kinds,
        observed=_("unknown warnings: {lines}", lines=" | ".join([*lines[:_MAX_KINDS], *more]))
        if kinds
        else _("no unknown warning"),
        expected=_("only warnings that known.toml, faults.toml or xids.toml explains"),
        otherwise=Status.WARN,
    )
