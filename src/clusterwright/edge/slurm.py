"""Slurm's client programs through a Remote: their text is read tolerantly, since JSON differs by version."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.edge.host import CANNOT_BECOME, REFUSED_ROOT
from clusterwright.edge.processes import Done
from clusterwright.edge.ssh import SSH_FAILED, Remote
from clusterwright.errors import WrightError

# The name comes last: it is the only field in which a stranger may have put a |
_COLUMNS = "%i|%u|%T|%M|%l|%D|%N|%r|%j"
QUEUE = f"squeue --noheader --states=all --format={shlex.quote(_COLUMNS)}"
_FIELD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_:/]*)=")
_WORD_OF_STATE = re.compile(r"[A-Z_]+")


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """One line of squeue; `hosts` is a hostlist, empty while the job waits."""

    job_id: str
    user: str
    state: str
    elapsed: str
    limit: str
    nodes: int
    hosts: str
    reason: str
    name: str


def parse_queue(text: str) -> tuple[QueuedJob, ...]:
    """Jobs of `squeue` in our columns; lines of another form (warnings) are passed over."""
    bars = _COLUMNS.count("|")
    rows = [line.strip().split("|", bars) for line in text.splitlines() if line.count("|") >= bars]
    return tuple(_queued(row) for row in rows if row[5].isdigit())


def _queued(row: Sequence[str]) -> QueuedJob:
    job_id, user, state, elapsed, limit, nodes, hosts, reason, name = row
    why = "" if reason == "None" else reason
    return QueuedJob(job_id, user, state, elapsed, limit, int(nodes), hosts, why, name)


def parse_job(text: str) -> dict[str, str]:
    """Fields of `scontrol show job -o`, in any version: a value runs to the next NAME=."""
    marks = list(_FIELD.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark[1]: text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)}


def state_of(fields: dict[str, str]) -> str:
    """The state alone: `CANCELLED` of `CANCELLED by 0`; `UNKNOWN` when Slurm says none."""
    match = _WORD_OF_STATE.match(fields.get("JobState", ""))
    return match[0] if match else "UNKNOWN"


def queue(remote: Remote, host: str) -> tuple[QueuedJob, ...]:
    """Every job that Slurm still knows.

    Raises:
        WrightError: the host or slurmctld does not answer.
    """
    return parse_queue(checked(remote.run(host, QUEUE), host, "squeue").out)


def show_job(remote: Remote, host: str, job_id: str) -> dict[str, str]:
    """What Slurm knows of one job; nothing when it has forgotten it (MinJobAge after the end).

    Raises:
        WrightError: the host or slurmctld does not answer.
    """
    done = remote.run(host, f"scontrol show job -o {shlex.quote(job_id)}")
    if "Invalid job id" in done.err + done.out:
        return {}
    return parse_job(checked(done, host, "scontrol").out)


def cancel(remote: Remote, host: str, job_ids: Sequence[str]) -> None:
    """Cancel jobs; one that has ended already is as wanted.

    Raises:
        WrightError: the host or slurmctld does not answer, or the job is another's.
    """
    done = remote.run(host, f"scancel {shlex.join(job_ids)}")
    if "Invalid job id" not in done.err:
        checked(done, host, "scancel")


def drain(remote: Remote, host: str, nodes: Sequence[str], reason: str) -> None:
    """No new job starts on these nodes; those that run go on.

    Raises:
        WrightError: the host or slurmctld does not answer, or refuses.
    """
    command = (
        f"scontrol update NodeName={shlex.quote(','.join(nodes))} State=DRAIN Reason={shlex.quote(reason)}"
    )
    checked(remote.run(host, command), host, "scontrol")


def resume(remote: Remote, host: str, nodes: Sequence[str]) -> None:
    """These nodes take jobs again.

    Raises:
        WrightError: the host or slurmctld does not answer, or refuses.
    """
    command = f"scontrol update NodeName={shlex.quote(','.join(nodes))} State=RESUME"
    checked(remote.run(host, command), host, "scontrol")


def hostnames(remote: Remote, host: str, hostlist: str) -> tuple[str, ...]:
    """The hosts of a hostlist, as Slurm itself expands it.

    Raises:
        WrightError: the host does not answer, or Slurm does not understand the list.
    """
    command = f"scontrol show hostnames {shlex.quote(hostlist)}"
    return tuple(checked(remote.run(host, command), host, "scontrol").out.split())


def submitted(done: Done, host: str, user: str | None) -> str:
    """The job id that `sbatch --parsable` printed on the last line.

    Raises:
        WrightError: there is none; with what Slurm said, and the mend.
    """
    if done.code == REFUSED_ROOT:
        raise WrightError.of(
            "root-job",
            f"on {host} you are root, and root runs no jobs",
            "name a user with `--as USER`, or `user:` in the job file",
        )
    if done.code == CANNOT_BECOME:
        raise WrightError.of(
            "other-user",
            f"on {host} you are neither root nor {user}",
            f"log in as {user} (`ssh.user`), or leave the user out",
        )
    out = checked(done, host, "sbatch").out.strip().splitlines()
    job_id = out[-1].split(";")[0] if out else ""
    if not job_id.isdigit():
        raise WrightError.of(
            "slurm-said", f"sbatch on {host} gave no job id: {done.last_lines()}", "run it there by hand"
        )
    return job_id


def checked(done: Done, host: str, program: str) -> Done:
    """The command's result when it went well.

    Raises:
        WrightError: the host was not reached, or the program failed; with its own words.
    """
    if done.ok:
        return done
    if done.code == SSH_FAILED:
        raise WrightError.of(
            "unreachable",
            f"{host} was not reached: {done.last_lines()}",
            f"try `ssh {host}`; nothing was changed there",
        )
    raise WrightError.of(
        "slurm-said",
        f"{program} on {host} ended with {done.code}: {done.last_lines()}",
        "mend what Slurm says; nothing was submitted or cancelled, and trying again is safe",
    )
