"""The records of `scontrol show job -o`, releases 21.08 to 26.05, in which users write names, paths and comments.

scontrol prints these raw, with spaces and line feeds, so that they can look like further fields and further records.
Only the order of its fields (scontrol/info_job.c) is not the user's: the name is first, then come the fields that
slurmctld writes, then the user's other texts. A record in which the text of a user makes this order ambiguous is
damaged and has no field besides its ids.
"""

import re
from typing import Dict, List, Optional, Sequence

from clusterwright.slurm.records import Record, parse_fields

_IDS = re.compile(
    r"JobId=(\d+) (?:ArrayJobId=(\d+) ArrayTaskId=(\S+) (?:ArrayTaskThrottle=\d+ )?"
    r"|HetJobId=(\d+) HetJobOffset=(\d+) )?"
)
_ID_NAMES = ("JobId", "ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset")
_NEXT_RECORD = re.compile(r"\n(?=JobId=\d+ )")
_NAME = re.compile(r"JobName=(.*?)(?: (SLUID=\S+))?(?: (HetJobIdSet=\S+))? ?\Z", re.DOTALL)
_USER = re.compile(r"\sUserId=")  # of slurmctld, behind the job's name
_FIRST_TEXT = re.compile(
    r"\s(?=(?:Network|Command|SubmitLine|WorkDir|AdminComment|SystemComment|Comment|Extra|StdErr|StdIn|StdOut)=)"
)
# What slurmctld writes, in scontrol's order. A user chooses the value of some of them: WCKey, MCS_label, AllocNode.
_WRITTEN = """
    UserId GroupId MCS_label Priority Nice Account QOS WCKey JobState Reason FailedNode Dependency Requeue
    Restarts BatchFlag Reboot ExitCode DerivedExitCode RunTime TimeLimit TimeMin SubmitTime EligibleTime
    AccrueTime ResizeTime StartTime EndTime Deadline CronJob CrontabSpec PreemptEligibleTime PreemptTime
    SuspendTime SecsPreSuspend LastSchedEval Scheduler Partition AllocNode:Sid ReqNodeList ExcNodeList NodeList
    SchedNodeList BatchFeatures BatchHost StepMgrEnabled FedOrigin FedViableSiblings FedActiveSiblings NumNodes
    NumCPUs NumTasks CPUs/Task ReqB:S:C:T TRES ReqTRES AllocTRES Socks/Node NtasksPerN:B:S:C ThreadSpec CoreSpec
    MinCPUsNode MinMemoryCPU MinMemoryNode MinTmpDiskNode MemUpdate Features DelayBoot ClusterFeatures Prefer
    Reservation OverSubscribe Exclusive Contiguous Licenses LicensesAlloc
"""
_PLACES = {name: place for place, name in enumerate(_WRITTEN.split())}


def parse_job(text: str) -> Record:
    """Parse the record of one job, array task or part of a heterogeneous job; without fields if there is none.

    If a text of the user makes the other fields ambiguous, it has the ids only.
    """
    text = _without_messages(text)
    match = _IDS.match(text)
    if not match:
        return Record({}, text.strip())
    ids = {name: value for name, value in zip(_ID_NAMES, match.groups()) if value}
    fields = _fields(text[match.end() :])
    return Record(ids if fields is None else dict(fields, **ids), text.strip())


def parse_jobs(text: str) -> List[Record]:
    """Parse the output of `scontrol show job` for one job; several records for an array or a heterogeneous job only.

    Empty without a record. The owner of such a job can add records by a name with line feeds; they have the ids of no
    other job.
    """
    text = _without_messages(text)
    match = _IDS.match(text)
    if not match:
        return []
    shared = match.group(2) or match.group(4)
    records = [parse_job(part) for part in (_NEXT_RECORD.split(text) if shared else [text])]
    return [record for record in records if shared in (None, record["ArrayJobId"], record["HetJobId"])]


def _without_messages(text: str) -> str:
    """Drop the lines before the first record, where no user's text is: warnings of scontrol; empty without a record."""
    match = re.search(r"^JobId=", text, re.MULTILINE)
    return text[match.start() :] if match else ""


def _fields(text: str) -> Optional[Dict[str, str]]:
    """Return the fields behind the ids; None if a text of the user makes them ambiguous or out of order."""
    named = {}  # type: Dict[str, str]
    if text.startswith("JobName="):
        places = [match.start() for match in _USER.finditer(text)]
        name = _NAME.match(text[: places[0]]) if len(places) == 1 else None
        if not name:
            return None
        named = dict(parse_fields(" ".join(filter(None, name.groups()[1:]))), JobName=name.group(1))
        text = text[places[0] :]
    texts = _FIRST_TEXT.search(text)
    end = texts.start() if texts else len(text)
    pairs = parse_fields(text[:end])
    if not _is_in_order(re.findall(r"(?:^|\s)([A-Za-z][A-Za-z0-9_:/]*)=", text[:end])):
        return None
    users = {name: value for name, value in parse_fields(text[end:]).items() if name not in _PLACES}
    return dict(users, **dict(pairs, **named))


def _is_in_order(names: Sequence[str]) -> bool:
    """Return True if each name occurs once, and the known ones in scontrol's order."""
    places = [_PLACES[name] for name in names if name in _PLACES]
    return len(set(names)) == len(names) and places == sorted(places)
