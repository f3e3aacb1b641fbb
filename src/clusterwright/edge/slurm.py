"""Run Slurm's client commands through a Remote; their text output is parsed, because JSON differs by version."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.edge.host import CANNOT_BECOME, REFUSED_ROOT
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import SSH_FAILED, Remote, ssh_problem
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_names import random_mark
from clusterwright.slurm import client
from clusterwright.slurm.job_records import parse_job
from clusterwright.slurm.jobs import Job, parse_queue
from clusterwright.slurm.records import Record, split_lines

FIELDS = ("id", "user", "state", "elapsed", "limit", "nodes", "hosts", "reason")
NAMED_FIELDS = (*FIELDS, "name")  # the name is last: it may contain any character
QUEUE = client.line(client.queue(FIELDS))


def queue(remote: Remote, host: str) -> tuple[Job, ...]:
    """Return all jobs in Slurm's queue, with their names.

    Raises:
        WrightError: the host or slurmctld does not answer.
    """
    prefix = random_mark()
    return parse_queue(_run(remote, host, client.queue(NAMED_FIELDS, prefix)).out, NAMED_FIELDS, prefix)


def show_job(remote: Remote, host: str, job_id: str) -> Record:
    """Return Slurm's record of a job; empty if Slurm has purged it (MinJobAge after its end).

    Raises:
        WrightError: the host or slurmctld does not answer.
    """
    argv = client.show_job(job_id)
    result = remote.run(host, client.line(argv))
    if "Invalid job id" in result.err + result.out:
        return Record({})
    return parse_job(checked(result, host, argv[0]).out)


def cancel(remote: Remote, host: str, job_ids: Sequence[str], user: str = "") -> None:
    """Cancel jobs in Slurm, with `user` only those of this user; completed jobs are ignored.

    Raises:
        WrightError: the host or slurmctld does not answer, or the job belongs to another user.
    """
    result = remote.run(host, client.line(client.cancel(job_ids, user)))
    if "Invalid job id" not in result.err:
        checked(result, host, "scancel")


def drain(remote: Remote, host: str, nodes: Sequence[str], reason: str) -> None:
    """Drain nodes in Slurm with a reason, by scontrol on `host`; running jobs continue.

    Raises:
        WrightError: the host or slurmctld does not answer, or rejects the request.
    """
    _run(remote, host, client.drain(",".join(nodes), reason))


def resume(remote: Remote, host: str, nodes: Sequence[str]) -> None:
    """Resume nodes in Slurm, by scontrol on `host`, so that they accept jobs again.

    Raises:
        WrightError: the host or slurmctld does not answer, or rejects the request.
    """
    _run(remote, host, client.resume(",".join(nodes)))


def _run(remote: Remote, host: str, argv: list[str]) -> CommandResult:
    return checked(remote.run(host, client.line(argv)), host, argv[0])


def submitted(result: CommandResult, host: str, user: str | None) -> str:
    """Return the job id on the last line of the output of `sbatch --parsable`, which ran on `host` as `user`.

    Raises:
        WrightError: there is none; the message has Slurm's error.
    """
    if result.code == REFUSED_ROOT:
        message = _("the login on {host} is root, but jobs do not run as root", host=host)
        if user:
            message = _("{user} is root on {host}, but jobs do not run as root", user=user, host=host)
        fix = _("set a user with `--as USER`, or `user:` in the job file")
        raise WrightError.from_code("root-job", message, fix)
    if result.code == CANNOT_BECOME:
        message = _("the login on {host} is neither root nor {user}", host=host, user=user)
        fix = _("log in as {user} (`ssh.user`), or remove the user", user=user)
        raise WrightError.from_code("other-user", message, fix)
    out = split_lines(checked(result, host, "sbatch").out.strip())
    job_id = out[-1].split(";")[0] if out else ""
    if not job_id.isdigit():
        message = _("sbatch on {host} printed no job id: {output}", host=host, output=result.last_lines())
        raise WrightError.from_code("slurm-said", message, _("run sbatch on that host by hand"))
    return job_id


def checked(result: CommandResult, host: str, program: str) -> CommandResult:
    """Return `result` unchanged if the command succeeded; `program` names it in errors.

    Raises:
        WrightError: the host is unreachable, or the program failed; the message has its output.
    """
    if result.ok:
        return result
    output = result.last_lines()
    if result.code == SSH_FAILED:
        if problem := ssh_problem(result, host):
            raise WrightError.from_code(problem.code, problem.message, problem.fix)
        message = _("{host} is unreachable: {output}", host=host, output=output)
        fix = _("try `ssh {host}`; the command changed nothing on the host", host=host)
        raise WrightError.from_code("unreachable", message, fix)
    values = {"program": program, "host": host, "code": result.code, "output": output}
    message = _("{program} on {host} exited with {code}: {output}", **values)
    fix = _("fix the error that Slurm reports; nothing was submitted or canceled, so a retry is safe")
    raise WrightError.from_code("slurm-said", message, fix)
