"""The rows of xids.toml that take a host out of service, as the programs on the hosts read them; pure."""

from __future__ import annotations

from clusterwright.check.kernel.xids import Xid, table

_HEAD = """\
# Xids for which a host takes no job, made from check/kernel/xids.toml, which has the others too, sources and reasons.
# With tabs between: number; severity by itself; hours for which it counts; TIMES/HOURS on one GPU from which it is
# grave; Xids from which it only follows; words that decide, the first that is found; meaning and what to do.
"""


def on_host() -> str:
    """The file `xids` of provision/render/hooks: a line for each number that can be grave."""
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
