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
    said = (
        row.severity,
        row.repeat.severity if row.repeat else "none",
        *(each.severity for each in row.words),
    )
    return "fail" in said


def _line(number: int, row: Xid) -> str:
    again = row.repeat if row.repeat and row.severity != "fail" and row.repeat.severity == "fail" else None
    action = again.action if again else row.action
    cells = (
        number,
        row.severity if row.severity == "fail" else "-",
        row.holds if row.holds == "boot" else f"{row.holds:g}",
        f"{again.times}/{again.hours:g}" if again else "-",
        ",".join(str(each) for each in row.ignore_after) or "-",
        ";".join(f"{each.severity} {each.has}" for each in row.words) or "-",
        f"{row.meaning}: {action}",
    )
    return "\t".join(str(cell) for cell in cells)
