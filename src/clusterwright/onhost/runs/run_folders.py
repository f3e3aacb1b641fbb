"""Find the folder of a run by its name, its job or its age (standard library, Python 3.8; sent with run_jobs.py).

Any user can write the folder of all runs, so neither a folder's name nor the job ids in it identify a run: Slurm's
record of a job names its user, and only a folder that this user owns is that job's.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
import sys
from typing import List, Optional, Set, Tuple

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.by_owner import read_by_owner
from clusterwright.onhost.lib.owner_access import owner_access
from clusterwright.onhost.lib.safe_reader import list_folder, text_or_empty
from clusterwright.onhost.lib.shared_folder import list_shared_folder
from clusterwright.slurm.records import split_lines

SLURM_S = 30
SUCCESSORS = 1000  # of a run, whose job ids are read
JOBS_BYTES, CHAIN_BYTES = 256 << 10, 4 << 10  # of the ids of an array, and of one successor
CLAIMS_S, CLAIMS_BYTES = (
    20.0,
    64 << 20,
)  # to look for a job in all runs: seconds together, bytes of each owner
_NUMBER = re.compile(r"[0-9]+(?:[_+][0-9]+)?")
_JOB = re.compile(r"([1-9][0-9]{0,9})(?:[_+](?:0|[1-9][0-9]{0,6}))?")  # also array tasks, heterogeneous parts
MOST_JOB = 2**31 - 1  # squeue refuses a query with a greater number, or with 0
_OUTPUT = re.compile(r"(?:.*/)?slurm-([0-9]+)\.out")
IDS = 1000  # of one query: the kernel limits an argument to 128 KiB


def owner_of(run: str) -> Optional[int]:
    """Return the user id that owns a run's folder and its job.json; None if it is not a run, or either is a link."""
    try:
        with owner_access(run):
            folder, record = os.lstat(run), os.lstat(os.path.join(run, "job.json"))
    except OSError:
        return None
    is_run = stat.S_ISDIR(folder.st_mode) and stat.S_ISREG(record.st_mode) and record.st_uid == folder.st_uid
    return folder.st_uid if is_run else None


def user_name(uid: int) -> str:
    """Return the name of a user as Slurm prints it: the number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def newest(runs: str) -> List[str]:
    """Return the names of all runs in the folder, the one submitted last first."""
    folders = [(name, os.path.join(runs, name)) for name in list_shared_folder(runs)]
    dated_names = [(_submitted(path), name) for name, path in folders if owner_of(path) is not None]
    return [name for _, name in sorted(dated_names, reverse=True)]


def _submitted(run: str) -> float:
    """Return when the run was submitted: the earlier of mtime and ctime of job.json, epoch seconds; 0 without it.

    A user can set the mtime, but not the ctime, to the future.
    """
    try:
        with owner_access(run):
            status = os.lstat(os.path.join(run, "job.json"))
    except OSError:
        return 0.0
    return min(status.st_mtime, status.st_ctime)


def denied(runs: str, reference: str) -> str:
    """Return the folder of the run that `reference` names if this user may not read it; else empty."""
    name = _run_name(runs, reference)
    path = os.path.join(runs, name)
    return path if name and os.path.isdir(path) and not os.access(path, os.R_OK | os.X_OK) else ""


def find(runs: str, reference: str, *, cancels: bool = False) -> str:
    """Return the folder of a run by name, job id, path of one of its files, or `last`; empty if there is none.

    `last` is the run that the caller submitted last, else anybody's. A caller who cancels the run must give the name of
    another user's, unless Slurm knows the job.
    """
    typed, reference, names = reference, reference.rstrip("/"), newest(runs)
    if reference == "last":
        paths = [os.path.join(runs, name) for name in names]
        owned = next((path for path in paths if owner_of(path) == caller_uid()), "")
        if owned or not paths:
            return owned
        return _of_another(paths[0], "you have no run", "is the last one", cancels=cancels)
    match = None if _below(runs, reference) else _OUTPUT.fullmatch(reference)
    job = match.group(1) if match else reference
    if _NUMBER.fullmatch(job):
        return _of_job(runs, names, job, cancels=cancels) if is_job(job) else ""
    name = _run_name(runs, typed)
    return os.path.join(runs, name) if name in names else ""


def _run_name(runs: str, reference: str) -> str:
    """Return the run that a name or path names: the first part below the folder of all runs, wherever it is mounted.

    Empty for a path elsewhere (as `logs/1` in a run's folder), unless it begins with a run of the caller: another
    user can give a run the name of any file in this one.
    """
    parts, folder = os.path.normpath(reference).split("/"), os.path.basename(os.path.normpath(runs))
    below = _below(runs, reference)
    if not below and len(parts) > 1 and parts.count(folder) == 1:
        below = parts[parts.index(folder) + 1 :]
    name = (below or parts)[0]
    is_named = below or "/" not in reference or owner_of(os.path.join(runs, name)) == caller_uid()
    return name if is_named else ""


def _below(runs: str, path: str) -> List[str]:
    """Return the parts of a path below the folder of all runs; none if it is elsewhere."""
    root, path = os.path.normpath(runs) + "/", os.path.normpath(path)
    return path[len(root) :].split("/") if path.startswith(root) else []


def caller_uid() -> int:
    """Return the user id of the person who runs this program: behind sudo, that of the user who called it."""
    return os.geteuid() or int(os.environ.get("SUDO_UID", "0"))


def _of_job(runs: str, names: List[str], job: str, *, cancels: bool) -> str:
    """Return the folder of a job's run; empty if there is none.

    If Slurm knows the job, the folder must belong to the job's user, else to the caller, else to the only user whose
    runs name the job; then a message names this user, and a caller who cancels gets no folder.
    """
    paths = (os.path.join(runs, name) for name in names)
    answers = read_by_owner(paths, CLAIMS_S, CLAIMS_BYTES, lambda path: job in _job_ids(path))
    claims = [path for path, claims_job, _error in answers if claims_job]
    record = _slurm_job(job)
    if record is not None:
        user, name = record
        named = [os.path.join(runs, name)] if name in names else []
        return next((path for path in (*named, *claims) if owner_of(path) == user), "")
    owners = [owner_of(path) for path in claims]
    if not owners or caller_uid() in owners:
        return claims[owners.index(caller_uid())] if owners else ""
    if len(set(owners)) > 1:
        listed = ", ".join(map(os.path.basename, claims))
        sys.stderr.write(f"runs of several users contain job id {job}: {listed}; use the name of a run\n")
        return ""
    return _of_another(claims[0], "Slurm does not know the job", f"contains job id {job}", cancels=cancels)


def _of_another(run: str, reason: str, claim: str, *, cancels: bool) -> str:
    """Print to stderr that a run is another user's, and return its folder; return "" to a caller who cancels it.

    `reason` and `claim` say why it was chosen.
    """
    uid = owner_of(run)
    owner = "another user" if uid is None else user_name(uid)
    fix = "; use the name of the run to cancel it" if cancels else ""
    sys.stderr.write(f"{reason}; run {os.path.basename(run)} of {owner} {claim}{fix}\n")
    return "" if cancels else run


def _slurm_job(job: str) -> Optional[Tuple[int, str]]:
    """Return the user id and name of a job, from slurmctld or accounting; None if neither has it."""
    commands = (
        ["squeue", "--noheader", "--all", "--states=all", f"--jobs={job}", "--format=%U|%j"],
        ["sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", "--format=UID,JobName"],
    )
    for argv in commands:
        result = processes.run(argv, SLURM_S)
        user, separator, name = result.out.partition("\n")[0].partition("|")
        if result.code == 0 and separator and user.strip().isdigit():
            return int(user), name.strip()
    return None


def job_ids(run: str) -> List[str]:
    """Return the ids of the run's jobs in the order of submission, as its folder lists them."""
    with owner_access(run):
        return _job_ids(run)


def _job_ids(run: str) -> List[str]:
    ids = dict.fromkeys(text_or_empty(os.path.join(run, "jobs"), JOBS_BYTES).split())
    chain = os.path.join(run, "chain")
    numbers = sorted(int(name) for name in list_folder(chain) if re.fullmatch("[0-9]+", name))
    for number in numbers[-SUCCESSORS:]:
        ids.update(dict.fromkeys(text_or_empty(os.path.join(chain, str(number)), CHAIN_BYTES).split()))
    return [text for text in ids if is_job(text)]


def is_job(text: str) -> bool:
    """Return True for the id of a job, an array task or a part of a heterogeneous job that Slurm accepts in a query."""
    match = _JOB.fullmatch(text)
    return match is not None and int(match.group(1)) <= MOST_JOB


def is_answer(result: processes.Result) -> bool:
    """Return True if squeue or sacct answered the query; squeue fails if it does not know the only job of a query."""
    return result.ok or "slurm_load_jobs error: Invalid job id specified" in result.err


def own_job_ids(run: str) -> List[str]:
    """Return the ids of the run's jobs that belong to its owner by Slurm's records.

    Ids of another user, or for which neither squeue nor sacct answers, are left out. Slurm prints a task of an array,
    or a part of a heterogeneous job, by one of several ids, so each of them counts.
    """
    ids, owner = job_ids(run), owner_of(run)
    queried: List[str] = []
    others: Set[str] = set()
    for start in range(0, len(ids), IDS):
        some = ids[start : start + IDS]
        jobs = "--jobs=" + ",".join(some)
        results = [
            processes.run(argv, SLURM_S)
            for argv in (
                ["squeue", "--noheader", "--all", "--states=all", jobs, "--format=%i|%A|%F|%U"],
                ["sacct", "--noheader", "--parsable2", "--allocations", jobs, "--format=JobID,JobIDRaw,UID"],
            )
        ]
        queried += some if any(map(is_answer, results)) else []
        for line in (line for result in results for line in split_lines(result.out)):
            *names, user = line.strip().split("|")
            if user != str(owner):
                others.update(map(_job_number, names))
    return [job for job in queried if _job_number(job) not in others]


def _job_number(job: str) -> str:
    """Return the number of a job, without the task of an array or the part of a heterogeneous job."""
    return re.split("[_+]", job)[0]
