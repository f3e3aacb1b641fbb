"""Slurm's client programs through a Remote: their text is read tolerantly, since JSON differs by version."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.edge.host import CANNOT_BECOME, REFUSED_ROOT
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import SSH_FAILED, Remote
from clusterwright.errors import WrightError
from clusterwright.slurm import client
from clusterwright.slurm.jobs import Job, parse_queue
from clusterwright.slurm.records import Record

# The name comes last: it is the only field in which a stranger may have put a |
FIELDS = ("id", "user", "state", "elapsed", "limit", "nodes", "hosts", "reason", "name")
QUEUE = client.line(client.queue(FIELDS))


def queue(remote: Remote, host: str) -> tuple[Job, ...]:
    """Every job that Slurm still knows.

    Raises:
        WrightError: the host or slurmctld does not answer.
    """
    return parse_queue(_run(remote, host, client.queue(FIELDS)).out, FIELDS)


def show_job(remote: Remote, host: str, job_id: str) -> Record:
    """What Slurm knows of one job; nothing when it has forgotten it (MinJobAge after the end).

    Raises:
        WrightError: the host or slurmctld does not answer.
    """
    argv = client.show_job(job_id)
    result = remote.run(host, client.line(argv))
    if "Invalid job id" in result.err + result.out:
        return Record({})
    return Record.parse(checked(result, host, argv[0]).out)


def cancel(remote: Remote, host: str, job_ids: Sequence[str]) -> None:
    """Cancel jobs; one that has ended already is as wanted.

    Raises:
        WrightError: the host or slurmctld does not answer, or the job is another's.
    """
    result = remote.run(host, client.line(client.cancel(job_ids)))
    if "Invalid job id" not in result.err:
        checked(result, host, "scancel")


def drain(remote: Remote, host: str, nodes: Sequence[str], reason: str) -> None:
    """No new job starts on these nodes; those that run go on.

    Raises:
        WrightError: the host or slurmctld does not answer, or refuses.
    """
    _run(remote, host, client.drain(",".join(nodes), reason))


def resume(remote: Remote, host: str, nodes: Sequence[str]) -> None:
    """These nodes take jobs again.

    Raises:
        WrightError: the host or slurmctld does not answer, or refuses.
    """
    _run(remote, host, client.resume(",".join(nodes)))


def _run(remote: Remote, host: str, argv: list[str]) -> CommandResult:
    return checked(remote.run(host, client.line(argv)), host, argv[0])


def submitted(result: CommandResult, host: str, user: str | None) -> str:
    """The job id that `sbatch --parsable` printed on the last line.

    Raises:
        WrightError: there is none; with what Slurm said, and the fix.
    """
    if result.code == REFUSED_ROOT:
        raise WrightError.from_code(
            "root-job",
            f"on {host} you are root, and root runs no jobs",
            "name a user with `--as USER`, or `user:` in the job file",
        )
    if result.code == CANNOT_BECOME:
        raise WrightError.from_code(
            "other-user",
            f"on {host} you are neither root nor {user}",
            f"log in as {user} (`ssh.user`), or leave the user out",
        )
    out = checked(result, host, "sbatch").out.strip().splitlines()
    job_id = out[-1].split(";")[0] if out else ""
    if not job_id.isdigit():
        raise WrightError.from_code(
            "slurm-said", f"sbatch on {host} gave no job id: {result.last_lines()}", "run it there by hand"
        )
    return job_id


def checked(result: CommandResult, host: str, program: str) -> CommandResult:
    """The command's result when it went well.

    Raises:
        WrightError: the host was not reached, or the program failed; with its own words.
    """
    if result.ok:
        return result
    if result.code == SSH_FAILED:
        raise WrightError.from_code(
            "unreachable",
            f"{host} was not reached: {result.last_lines()}",
            f"try `ssh {host}`; nothing was changed there",
        )
    raise WrightError.from_code(
        "slurm-said",
        f"{program} on {host} ended with {result.code}: {result.last_lines()}",
        "fix what Slurm says; nothing was submitted or cancelled, and trying again is safe",
    )
