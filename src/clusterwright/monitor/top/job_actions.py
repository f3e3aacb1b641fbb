"""Cancel a job, read its output and explain it, by SSH to the control host as the user of the screen."""

from __future__ import annotations

import re
from collections.abc import Callable

from clusterwright.edge import slurm
from clusterwright.edge.bundler import RUNS, program_command, program_input
from clusterwright.edge.host import CANNOT_BECOME, Host, as_user
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.monitor.snapshot import JobView
from clusterwright.slurm import client

ROOT = "root"
LINES = 200  # of a job's output
CANCEL_S = 90.0  # the ranks of a run have 40 s to save a checkpoint
_ID = re.compile(r"\d+(?:[_+]\d+)?")
_OUTPUT = """out=$({job} | sed -n '1s/.* StdOut=\\([^ ]*\\).*/\\1/p'); \
[ -n "$out" ] || {{ echo "Slurm has no path of the output" >&2; exit 1; }}; tail -n {lines} -- "$out\""""


class ByShell:
    """Actions on jobs by commands on the control host as `user`; as the SSH login if `user` is root."""

    def __init__(
        self, remote: Remote, host: str, runs: str, user: str, explain: Callable[[str], str]
    ) -> None:
        self._remote, self._host, self._runs, self._explain = remote, host, runs, explain
        self.user = user

    def cancel(self, job: JobView) -> str:
        """Cancel the job; the ranks of a run save first, and no successor job or failover follows.

        Raises:
            WrightError: Slurm refuses it, or the control host does not answer.
        """
        if job.run:
            command = program_command("cancel", self._runs, job.run.name)
            result = self._as_user(command, program_input(RUNS), CANCEL_S)
        else:
            result = self._as_user(client.line(client.cancel([_scancel_id(job)], job.user)), b"", 30)
        return slurm.checked(result, self._host, "scancel").out

    def output(self, job: JobView) -> str:
        """Read the last LINES lines of the job's output.

        Raises:
            WrightError: the output does not exist, or the user may not read it.
        """
        if job.run:
            command = program_command("logs", self._runs, job.run.name, "once")
            result = self._as_user(f"{command} | tail -n {LINES}", program_input(RUNS), 60)
        else:
            result = self._as_user(
                _OUTPUT.format(job=client.line(client.show_job(number(job))), lines=LINES), b"", 30
            )
        return slurm.checked(result, self._host, "tail").out

    def explain(self, job: JobView) -> str:
        """Return why the job is pending or failed, by the function that was passed to the constructor."""
        return self._explain(number(job))

    def _as_user(self, command: str, stdin: bytes, limit_s: float) -> CommandResult:
        line = command if self.user == ROOT else as_user(command, self.user)
        result = Host(self._remote, self._host).run(line, stdin=stdin, timeout_s=limit_s)
        if result.code == CANNOT_BECOME:
            raise WrightError.from_code(
                "other-user",
                _("the SSH login on {host} is neither root nor {user}", host=self._host, user=self.user),
                _("name the user of that login: `wright top --as USER`"),
            )
        return result


def _scancel_id(job: JobView) -> str:
    """Return the job's id for scancel; for the pending tasks of an array `ID_[`, so that only these are canceled."""
    return number(job) + ("_[" if "[" in job.id else "")


def number(job: JobView) -> str:
    """Return the job id for commands: 8 for `8_[0-99%4]`, a pending array."""
    match = _ID.match(job.id)
    return match[0] if match else "0"
