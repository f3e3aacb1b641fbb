"""The rows of xids.toml that drain a host, in the file format of the health check program on hosts; pure."""

from __future__ import annotations

from clusterwright.check.kernel.xids import Xid, table

_HEAD = """\
# Xids that drain a host, generated from check/kernel/xids.toml, which also has the other Xids, sources and reasons.
# Tab-separated: number; severity; hours in which it counts; TIMES/HOURS on one GPU that make it fatal; Xids that
# cause it (it is then ignored); message texts that decide the severity, the first match counts; meaning and action.
"""


def on_host() -> str:
    """Return the text of the file `xids`, by which the hook programs of Slurm on a host judge the kernel log.

    It has a line for each Xid whose severity can be `fail`.
    """
    rows = {number: row for number, row in sorted(table().items()) if _can_be_grave(row)}
    return _HEAD + "".join(f"{_line(number, row)}\n" for number, row in rows.items())


def _can_be_grave(row: Xid) -> bool:
    severities = (
        row.severity,
        row.repeat.severity if row.repeat else "none",
        *(rule.severity for rule in row.words),
    )
    return "fail" in severities


def _line(number: int, row: Xid) -> str:
    repeat = row.repeat if row.repeat and row.severity != "fail" and row.repeat.severity == "fail" else None
    action = repeat.action if repeat else row.action
    cells = (
        number,
        row.severity if row.severity == "fail" else "-",
        row.holds if row.holds == "boot" else f"{row.holds:g}",
        f"{repeat.times}/{repeat.hours:g}" if repeat else "-",
        ",".join(str(cause) for cause in row.ignore_after) or "-",
        ";".join(f"{rule.severity} {rule.has}" for rule in row.words) or "-",
        f"{row.meaning}: {action}",
    )
    return "\t".join(str(cell) for cell in cells)
