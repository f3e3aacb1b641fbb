"""Nothing in the kernel's log is new to us."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.faults import unknown_kinds
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_MAX_KINDS, _WIDE = 5, 100  # kinds, and characters of each: enough to look them up


@check(
    kernel_log,
    fix="read them with `journalctl -k -b -p warning`; a harmless one becomes a row of check/kernel/known.toml",
)
def kernel_lines(_spec: HostSpec, have: KernelLog) -> Verdict:
    """Every line of the kernel that warns is one that is known: harmless, or the finding of another check."""
    if have.missing:
        return unknown(have.missing)
    if not have.source:
        return skip(_("a container has no kernel log of its own"))
    kinds = unknown_kinds(have.lines)
    lines = [f"{line[:_WIDE]}{f' ({times} times)' if times > 1 else ''}" for times, line in kinds.values()]
    more = [_("and {count} more kinds", count=len(lines) - _MAX_KINDS)] if len(lines) > _MAX_KINDS else []
    return expect(
        not kinds,
        observed=_("not known: {value}", value=" | ".join([*lines[:_MAX_KINDS], *more]))
        if kinds
        else _("every line that warns is known"),
        expected=_("only lines of check/kernel/known.toml, faults.toml and xids.toml"),
        otherwise=Status.WARN,
    )
