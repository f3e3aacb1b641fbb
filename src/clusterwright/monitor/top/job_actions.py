"""What may be done with a job from the screen, by ssh to the control host, as the person who looks."""

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
LINES = 200  # of what a job printed
CANCEL_S = 90.0  # the ranks of a run are given 40 s to save
_ID = re.compile(r"\d+(?:[_+]\d+)?")
_OUTPUT = """out=$({job} | sed -n '1s/.* StdOut=\\([^ ]*\\).*/\\1/p'); \
[ -n "$out" ] || {{ echo "Slurm does not say where it prints" >&2; exit 1; }}; tail -n {lines} -- "$out\""""


class ByShell:
    """Jobs are ended and read as `user`, whom the control host becomes; as whoever ssh logs in where that is root."""

    def __init__(
        self, remote: Remote, host: str, runs: str, user: str, explain: Callable[[str], str]
    ) -> None:
        self._remote, self._host, self._runs, self._explain = remote, host, runs, explain
        self.user = user

    def cancel(self, job: JobView) -> str:
        """End the job; a run's ranks are asked to save first, and nothing takes over from it.

        Raises:
            WrightError: Slurm refuses, or the control host does not answer.
        """
        if job.run:
            command = program_command("cancel", self._runs, job.run.name)
            result = self._as_user(command, program_input(RUNS), CANCEL_S)
        else:
            result = self._as_user(client.line(client.cancel(_scancel_arguments(job))), b"", 30)
        return slurm.checked(result, self._host, "scancel").out

    def output(self, job: JobView) -> str:
        """The last lines that it printed.

        Raises:
            WrightError: it may not be read, or is not there.
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
        """Why it waits or failed, by whoever knows that."""
        return self._explain(number(job))

    def _as_user(self, command: str, stdin: bytes, limit_s: float) -> CommandResult:
        line = command if self.user == ROOT else as_user(command, self.user)
        result = Host(self._remote, self._host).run(line, stdin=stdin, timeout_s=limit_s)
        if result.code == CANNOT_BECOME:
            raise WrightError.from_code(
                "other-user",
                _("on {host} you are neither root nor {user}", host=self._host, user=self.user),
                _("name who you are there: `wright top --as USER`"),
            )
        return result


def _scancel_arguments(job: JobView) -> list[str]:
    """What scancel is told; of an array that waits, only the tasks that wait."""
    return ["--state=PENDING", number(job)] if "[" in job.id else [number(job)]


def number(job: JobView) -> str:
    """The id as commands take it: `8_[0-99%4]`, an array that waits, is 8."""
    match = _ID.match(job.id)
    return match[0] if match else "0"
