"""Slurm's client programs through a Remote: their text is read tolerantly, since JSON differs by version."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.edge.host import CANNOT_BECOME, REFUSED_ROOT
from clusterwright.edge.processes import Done
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
    done = remote.run(host, client.line(argv))
    if "Invalid job id" in done.err + done.out:
        return Record({})
    return Record.parse(checked(done, host, argv[0]).out)


def cancel(remote: Remote, host: str, job_ids: Sequence[str]) -> None:
    """Cancel jobs; one that has ended already is as wanted.

    Raises:
        WrightError: the host or slurmctld does not answer, or the job is another's.
    """
    done = remote.run(host, client.line(client.cancel(job_ids)))
    if "Invalid job id" not in done.err:
        checked(done, host, "scancel")


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


def _run(remote: Remote, host: str, argv: list[str]) -> Done:
    return checked(remote.run(host, client.line(argv)), host, argv[0])


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
