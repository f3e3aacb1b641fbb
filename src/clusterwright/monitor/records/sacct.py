"""Parse the output of `sacct -P`, of any release and site."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clusterwright.i18n import _, _n
from clusterwright.monitor.records.quantities import (
    UnreadableError,
    gpus,
    moment,
    parse_count,
    resources,
    size,
    span,
)
from clusterwright.monitor.records.record import AccountingRecord

# The queried fields. Job names may contain any printable separator, so the separator is one that no name contains.
FIELDS = (
    "JobID", "User", "Account", "Partition", "QOS", "State", "Submit", "Eligible", "Start", "End", "Elapsed",
    "Timelimit", "NNodes", "NCPUS", "ReqMem", "ReqTRES", "AllocTRES", "NodeList", "TotalCPU", "MaxRSS", "ExitCode",
    "JobName",
)  # fmt: skip
SEPARATOR = "\x1f"
NEEDED = ("JobID", "Submit", "Elapsed")


class NoColumnError(ValueError):
    """The heading of the output lacks required columns."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(", ".join(missing))
        self.missing = tuple(missing)


@dataclass(frozen=True, slots=True)
class Bad:
    """A line of the output that cannot be parsed, and why; `kind` is equal for lines that differ only in a value."""

    line: int
    reason: str
    kind: str = field(default="", compare=False)

    @classmethod
    def from_error(cls, line: int, reason: ValueError) -> Bad:
        """Return a bad line with the error of a parser."""
        return cls(line, str(reason), reason.kind if isinstance(reason, UnreadableError) else "")


def read(lines: Iterable[str], separator: str = "|") -> Iterator[AccountingRecord | Bad]:
    """Parse jobs and steps of a text with a heading; the id of a step has a dot.

    Blank lines are skipped; a line that cannot be parsed is yielded as Bad.

    Raises:
        NoColumnError: the heading lacks required columns.
    """
    numbered = enumerate(lines, 1)
    heading = next((line for _number, line in numbered if line.strip()), "")
    names = [name.strip() for name in heading.rstrip("\r\n").split(separator)]
    if missing := [name for name in NEEDED if name not in names]:
        raise NoColumnError(missing)
    parse = _parser(names)
    for number, line in numbered:
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        cells = _cells(text.split(separator), names, separator)
        if len(cells) != len(names):
            yield Bad(
                number,
                _n(
                    "{count} column, but the heading has {expected}",
                    "{count} columns, but the heading has {expected}",
                    len(cells),
                    expected=len(names),
                ),
            )
            continue
        try:
            yield parse(cells)
        except ValueError as error:
            yield Bad.from_error(number, error)


def _cells(cells: list[str], names: Sequence[str], separator: str) -> list[str]:
    """Return cells without the empty last one of `sacct -p`; a job name that contains separators is rejoined.

    The number of cells can still differ from that of names.
    """
    if len(cells) == len(names) + 1 and not cells[-1]:
        cells = cells[:-1]
    more = len(cells) - len(names)
    if more > 0 and "JobName" in names:
        index = names.index("JobName")
        cells = [*cells[:index], separator.join(cells[index : index + more + 1]), *cells[index + more + 1 :]]
    return cells


def _parser(names: Sequence[str]) -> Callable[[Sequence[str]], AccountingRecord]:
    """Return a function that builds a record from the cells of a line; missing columns count as blank.

    The function raises ValueError for a line without a JobID or with a bad value.
    """
    columns = {name: number for number, name in enumerate(names)}
    blank = len(names)

    def parse(row: Sequence[str]) -> AccountingRecord:
        cells = [*row, ""]

        def cell(name: str) -> str:
            return cells[columns.get(name, blank)].strip()

        if not cell("JobID"):
            raise ValueError(_("the line of sacct has no JobID"))
        requested = cell("ReqTRES") or cell("AllocTRES")
        allocated = cell("AllocTRES") or requested
        hosts = parse_count(cell("NNodes") or cell("AllocNodes") or cell("ReqNodes")) or parse_count(
            resources(allocated).get("node", "0")
        )
        memory = size(resources(requested).get("mem", "") or cell("ReqMem"))
        return AccountingRecord(
            cell("JobID"),
            cells[columns.get("JobName", blank)],
            cell("User"),
            cell("Account"),
            cell("Partition"),
            cell("QOS"),
            cell("State").split(" ")[0].rstrip("+"),
            moment(cell("Submit")),
            moment(cell("Eligible")),
            moment(cell("Start")),
            moment(cell("End")),
            span(cell("Elapsed")),
            span(cell("Timelimit")),
            cell("NodeList"),
            hosts,
            parse_count(
                cell("NCPUS") or cell("AllocCPUS") or cell("ReqCPUS") or resources(allocated).get("cpu", "0")
            ),
            gpus(allocated) or gpus(requested),
            memory,
            span(cell("TotalCPU")),
            size(cell("MaxRSS")),
            cell("ExitCode"),
        )

    return parse
