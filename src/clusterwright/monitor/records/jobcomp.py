"""Parse slurmctld's job completion log (JobCompType=jobcomp/filetxt), which needs no accounting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.i18n import _
from clusterwright.monitor.records.quantities import gpus, moment, parse_count, resources, size, span
from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.records.sacct import Bad

# A job name may contain anything, even `JobState=`; the fields after it are matched from the right, in Slurm's order.
_LINE = re.compile(
    r"JobId=(?P<id>\S+) UserId=(?P<user>[^( ]*)\S* GroupId=\S* Name=(?P<name>.*) JobState=(?P<state>\w+)"
    r" Partition=(?P<partition>\S*) TimeLimit=(?P<limit>\S+) StartTime=(?P<start>\S+) EndTime=(?P<end>\S+)"
    r" NodeList=(?P<hosts>\S*) NodeCnt=(?P<count>\d+) ProcCnt=(?P<cpus>\d+) (?P<rest>.*)"
)
_FIELDS = ("Tres", "Account", "QOS", "SubmitTime", "EligibleTime", "ExitCode")
_FIELD_PATTERNS = {field: re.compile(rf"(?:^|.* ){field}=(\S*)") for field in _FIELDS}
_MINUTE_S = 60


def read(lines: Iterable[str]) -> Iterator[AccountingRecord | Bad]:
    """Parse the lines that are not blank; a line that is not of this format, or has a bad value, is yielded as Bad."""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n ")
        if not text:
            continue
        match = _LINE.fullmatch(text)
        try:
            yield _record(match) if match else Bad(number, _("not a line of slurmctld's job completion log"))
        except ValueError as error:
            yield Bad.from_error(number, error)


def _record(match: re.Match[str]) -> AccountingRecord:
    fields = {
        field: (field_match[1] if (field_match := form.match(match["rest"])) else "")
        for field, form in _FIELD_PATTERNS.items()
    }
    start, end = moment(match["start"]), moment(match["end"])
    elapsed_s = max(0.0, end - start) if start and end else None
    return AccountingRecord(
        match["id"],
        match["name"],
        match["user"],
        fields["Account"],
        match["partition"],
        fields["QOS"],
        match["state"],
        moment(fields["SubmitTime"]),
        moment(fields["EligibleTime"]),
        start,
        end,
        elapsed_s,
        _limit(match["limit"]),
        "" if match["hosts"] == "(null)" else match["hosts"],
        int(match["count"]),
        parse_count(resources(fields["Tres"]).get("cpu", "")) or int(match["cpus"]),
        gpus(fields["Tres"]),
        size(resources(fields["Tres"]).get("mem", "")),
        exit_code=fields["ExitCode"],
    )


def _limit(text: str) -> float | None:
    """Return the seconds of a time limit, a number of minutes or a Slurm duration; None if unlimited or not set."""
    return float(text) * _MINUTE_S if text.isdigit() else span(text)
