"""Actions of the web page, their permissions and their journal; they call the functions of the command line."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from clusterwright.edge import slurm
from clusterwright.edge.bundler import RUNS
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.monitor.snapshot import JobView, NodeView
from clusterwright.monitor.web.users import WebUser

LONGEST_REASON = 120
AT_ONCE, FOR_OPERATORS, OF_USER = 16, 8, 2  # concurrent: all, of these only operators', of one user
_JOB = re.compile(r"(\d+(?:_(?:\d+|\[[\d,:-]+))?)(?:%\d+)?(\]?)((?:\+\d+)?)")  # 12, 12_3, 12_[0-99%4], 12+1


class BusyError(Exception):
    """Too many actions of the user, or of all users, are running."""


class ActionThreads:
    """Threads for actions, so that slow ones delay neither snapshots nor sign-ins; a few for each user."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, "action")
        self._running: Counter[str] = Counter()

    async def run(self, user: WebUser, work: Callable[[], None]) -> None:
        """Run an action in a thread until it ends, with the caller's context variables.

        Raises:
            BusyError: no thread is free for this user; the last ones are for operators.
        """
        limit = AT_ONCE if user.role == "operator" else AT_ONCE - FOR_OPERATORS
        if self._running[user.name] >= OF_USER or self._running.total() >= limit:
            raise BusyError
        self._running[user.name] += 1
        try:
            loop, context = asyncio.get_running_loop(), contextvars.copy_context()
            await loop.run_in_executor(self._threads, context.run, work)
        finally:
            self._running[user.name] -= 1


@dataclass(frozen=True, slots=True)
class ClusterActions:
    """Actions on jobs and nodes, with the connection to Slurm, the runs folder ("" if none), and the journal."""

    remote: Remote
    host: str
    runs: str
    journal: Path
    clock: Clock

    def cancel(self, job: JobView, by: WebUser) -> None:
        """Cancel a job as `wright cancel` does: the ranks of a run save first; write the action to the journal.

        Raises:
            WrightError: the job is not canceled, or its id is not one of Slurm's.
        """
        match = _JOB.fullmatch(job.id)
        if match is None:
            raise WrightError.from_code(
                "no-such-job", _("`{job}` is not a job id", job=job.id), _("reload the list of jobs")
            )
        if job.run is not None and self.runs:
            self._journaled(by, "cancel", job.id, "", lambda: self._cancel_run(job.id))
        else:
            ids = ["".join(match.groups())]
            self._journaled(
                by, "cancel", job.id, "", lambda: slurm.cancel(self.remote, self.host, ids, job.user)
            )

    def _cancel_run(self, job: str) -> None:
        result = Host(self.remote, self.host).run_program(RUNS, "cancel", self.runs, job)
        slurm.checked(result, self.host, "wright cancel")

    def drain(self, node: NodeView, reason: str, by: WebUser) -> None:
        """Drain a node; the reason names the user; write the action to the journal.

        Raises:
            WrightError: the node is drained already, or the drain fails.
        """
        if node.drained:
            raise WrightError.from_code(
                "node-drained",
                _("{node} is drained already: {reason}", node=node.name, reason=node.reason),
                _("resume the node first to set another reason"),
            )
        text = f"{by.name}: {reason}"
        self._journaled(
            by, "drain", node.name, reason, lambda: slurm.drain(self.remote, self.host, [node.name], text)
        )

    def resume(self, node: NodeView, by: WebUser) -> None:
        """Resume a node, and write the action to the journal.

        Raises:
            WrightError: the node is not resumed.
        """
        self._journaled(
            by, "resume", node.name, node.reason, lambda: slurm.resume(self.remote, self.host, [node.name])
        )

    def _journaled(
        self, by: WebUser, action: str, subject: str, reason: str, work: Callable[[], None]
    ) -> None:
        """Run an action, with an entry in the journal before and after it.

        Raises:
            WrightError: the journal is not writable (then `work` is not run), or the action failed.
        """
        self._write(by, action, subject, reason, "begins")
        try:
            work()
        except WrightError as error:
            self._write(by, action, subject, reason, f"failed: {error.findings[0].message}")
            raise
        self._write(by, action, subject, reason, "done")

    def _write(self, by: WebUser, action: str, subject: str, reason: str, outcome: str) -> None:
        row = {"at": round(self.clock.now(), 3), "by": by.name, "role": by.role, "what": action, "subject": subject,
               "reason": reason, "outcome": outcome}  # fmt: skip
        line = json.dumps(row) + "\n"
        try:
            with os.fdopen(os.open(self.journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
                file.write(line)
        except OSError as error:
            raise WrightError.from_code(
                "web-journal",
                _("{journal} cannot be written: {strerror}", journal=self.journal, strerror=error.strerror),
                _("make the journal writable; the page takes no action without a journal"),
            ) from error


def may_cancel(user: WebUser, job: JobView) -> bool:
    """Return whether a user may cancel a job: users their own, operators any."""
    return user.role == "operator" or (user.role == "user" and user.name == job.user)


def may_serve(user: WebUser) -> bool:
    """Return whether a user may drain and resume nodes: only operators."""
    return user.role == "operator"


def good_reason(text: object) -> str | None:
    """Return the reason of a drain without outer blanks; None if it is empty, too long, or not printable."""
    if not isinstance(text, str):
        return None
    reason = text.strip()
    return reason if 0 < len(reason) <= LONGEST_REASON and reason.isprintable() else None
