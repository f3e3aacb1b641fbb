"""slurmctld's own file of ended jobs (JobCompType=jobcomp/filetxt), which is there without any accounting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.monitor.records.quantities import gpus, moment, resources, size, span, whole
from clusterwright.monitor.records.record import Record
from clusterwright.monitor.records.sacct import Bad

# A name may hold anything, also `JobState=`; what follows it is looked for from the right, in Slurm's order.
_LINE = re.compile(
    r"JobId=(?P<id>\S+) UserId=(?P<user>[^( ]*)\S* GroupId=\S* Name=(?P<name>.*) JobState=(?P<state>\w+)"
    r" Partition=(?P<partition>\S*) TimeLimit=(?P<limit>\S+) StartTime=(?P<start>\S+) EndTime=(?P<end>\S+)"
    r" NodeList=(?P<hosts>\S*) NodeCnt=(?P<count>\d+) ProcCnt=(?P<cpus>\d+) (?P<rest>.*)"
)
_WORDS = ("Tres", "Account", "QOS", "SubmitTime", "EligibleTime", "ExitCode")
_REST = {word: re.compile(rf"(?:^|.* ){word}=(\S*)") for word in _WORDS}
_MINUTE_S = 60


def read(lines: Iterable[str]) -> Iterator[Record | Bad]:
    """Each job that ended; a line that is torn, or none of Slurm's, is said as such."""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n ")
        if not text:
            continue
        found = _LINE.fullmatch(text)
        try:
            yield _record(found) if found else Bad(number, "no line of slurmctld's")
        except ValueError as why:
            yield Bad.of(number, why)


def _record(found: re.Match[str]) -> Record:
    rest = {word: (each[1] if (each := form.match(found["rest"])) else "") for word, form in _REST.items()}
    start, end = moment(found["start"]), moment(found["end"])
    held = max(0.0, end - start) if start and end else None
    return Record(
        found["id"],
        found["name"],
        found["user"],
        rest["Account"],
        found["partition"],
        rest["QOS"],
        found["state"],
        moment(rest["SubmitTime"]),
        moment(rest["EligibleTime"]),
        start,
        end,
        held,
        _limit(found["limit"]),
        "" if found["hosts"] == "(null)" else found["hosts"],
        int(found["count"]),
        whole(resources(rest["Tres"]).get("cpu", "")) or int(found["cpus"]),
        gpus(rest["Tres"]),
        size(resources(rest["Tres"]).get("mem", "")),
        exit_code=rest["ExitCode"],
    )


def _limit(text: str) -> float | None:
    """Minutes as a bare number, or a span."""
    return float(text) * _MINUTE_S if text.isdigit() else span(text)
