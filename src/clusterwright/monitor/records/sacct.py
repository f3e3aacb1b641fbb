"""What `sacct -P` prints, of any release and any site, as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clusterwright.monitor.records.quantities import (
    UnreadableError,
    gpus,
    moment,
    resources,
    size,
    span,
    whole,
)
from clusterwright.monitor.records.record import Record

# What we ask for. Names of jobs are strangers' text and may hold any mark, so ours ends a column with one that
# no name can hold.
FIELDS = (
    "JobID", "User", "Account", "Partition", "QOS", "State", "Submit", "Eligible", "Start", "End", "Elapsed",
    "Timelimit", "NNodes", "NCPUS", "ReqMem", "ReqTRES", "AllocTRES", "NodeList", "TotalCPU", "MaxRSS", "ExitCode",
    "JobName",
)  # fmt: skip
MARK = "\x1f"
NEEDED = ("JobID", "Submit", "Elapsed")


class NoColumnError(ValueError):
    """The heading lacks columns without which no line says anything."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(", ".join(missing))
        self.missing = tuple(missing)


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that is no job, and why; `kind` is the same for lines that only differ in a value."""

    line: int
    why: str
    kind: str = field(default="", compare=False)

    @classmethod
    def of(cls, line: int, why: ValueError) -> Bad:
        """By an error of its parser."""
        return cls(line, str(why), why.kind if isinstance(why, UnreadableError) else "")


def read(lines: Iterable[str], mark: str = "|") -> Iterator[Record | Bad]:
    """Each job or step of a text with a heading; a step's id has a dot.

    Raises:
        NoColumnError: the heading has not what is needed.
    """
    numbered = enumerate(lines, 1)
    heading = next((line for _, line in numbered if line.strip()), "")
    names = [name.strip() for name in heading.rstrip("\r\n").split(mark)]
    if missing := [name for name in NEEDED if name not in names]:
        raise NoColumnError(missing)
    parse = _parser(names)
    for number, line in numbered:
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        cells = _cells(text.split(mark), names, mark)
        if len(cells) != len(names):
            yield Bad(number, f"{len(cells)} columns, and the heading has {len(names)}")
            continue
        try:
            yield parse(cells)
        except ValueError as why:
            yield Bad.of(number, why)


def _cells(cells: list[str], names: Sequence[str], mark: str) -> list[str]:
    """A trailing mark (`sacct -p`) makes an empty column; a mark in a job's name is a part of the name."""
    if len(cells) == len(names) + 1 and not cells[-1]:
        cells = cells[:-1]
    more = len(cells) - len(names)
    if more > 0 and "JobName" in names:
        at = names.index("JobName")
        cells = [*cells[:at], mark.join(cells[at : at + more + 1]), *cells[at + more + 1 :]]
    return cells


def _parser(names: Sequence[str]) -> Callable[[Sequence[str]], Record]:
    """What makes a record of a line's cells."""
    place = {name: number for number, name in enumerate(names)}
    blank = len(names)

    def parse(row: Sequence[str]) -> Record:
        cells = [*row, ""]

        def of(name: str) -> str:
            return cells[place.get(name, blank)].strip()

        if not of("JobID"):
            raise ValueError("it has no JobID")
        asked = of("ReqTRES") or of("AllocTRES")
        given = of("AllocTRES") or asked
        hosts = whole(of("NNodes") or of("AllocNodes") or of("ReqNodes")) or whole(
            resources(given).get("node", "0")
        )
        memory = size(resources(asked).get("mem", "") or of("ReqMem"))
        return Record(
            of("JobID"),
            cells[place.get("JobName", blank)],
            of("User"),
            of("Account"),
            of("Partition"),
            of("QOS"),
            of("State").split(" ")[0].rstrip("+"),
            moment(of("Submit")),
            moment(of("Eligible")),
            moment(of("Start")),
            moment(of("End")),
            span(of("Elapsed")),
            span(of("Timelimit")),
            of("NodeList"),
            hosts,
            whole(of("NCPUS") or of("AllocCPUS") or of("ReqCPUS") or resources(given).get("cpu", "0")),
            gpus(given) or gpus(asked),
            memory,
            span(of("TotalCPU")),
            size(of("MaxRSS")),
            of("ExitCode"),
        )

    return parse
