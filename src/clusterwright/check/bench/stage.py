"""Run programs on the hosts of one Slurm job: one SSH command an order, one answer a host."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from clusterwright.edge.answers import evaluating, parse_answer
from clusterwright.edge.bundler import BENCH, program_command, program_input
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.bench.conduct import MARKER, RUNNING
from clusterwright.onhost.lib.safe_reader import parse_document

GRACE_S = 15.0  # ours: how long a loaded host and a shared folder take to show an order, and its answer
SSH_S = 20.0


@dataclass(frozen=True, slots=True)
class StagedPart:
    """What one host runs: a program of ours, its arguments and timeout; `python` if it needs torch."""

    program: str
    given: Mapping[str, Any]
    limit_s: float
    python: str = ""


@dataclass(frozen=True, slots=True)
class StageAnswer:
    """How the program ended on that host; `document` is the JSON that it printed."""

    code: int
    out: str
    err: str
    stopped: str = ""

    @property
    def reason(self) -> str:
        """The program's error message; empty if it succeeded."""
        if self.stopped:
            return self.stopped
        last = (self.err.strip() or self.out.strip()).splitlines()[-1:]
        return (
            ""
            if self.code == 0
            else _(
                "exited with code {code}: {last}",
                code=self.code,
                last=" ".join(last) or "(nothing)",
            )
        )

    @property
    def document(self) -> Any:
        """The JSON that the program printed on stdout.

        Raises:
            ValueError: it printed something else.
        """
        return parse_document(self.out)


class Stage(Protocol):
    """A bench's view of its hosts."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts that still answer, in the order of the job."""
        ...

    @property
    def lost_hosts(self) -> Mapping[str, str]:
        """Hosts that stopped answering, each with the order that it missed."""
        ...

    def do(self, parts: Mapping[str, StagedPart]) -> dict[str, StageAnswer]:
        """Run the parts on their hosts at the same time; a host that does not answer is lost and not in the result."""
        ...


@dataclass(slots=True)
class JobStage:
    """The hosts of a Slurm job, reached through the control host."""

    remote: Remote
    control: str
    user: str | None
    folder: str
    job: str
    names: tuple[str, ...]
    log: Callable[[str], None]
    lost_reasons: dict[str, str] = field(default_factory=dict)
    orders: int = 0

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the job's hosts that are not lost."""
        return tuple(name for name in self.names if name not in self.lost_reasons)

    @property
    def lost_hosts(self) -> Mapping[str, str]:
        """Hosts that stopped answering, by name, each with the order that it missed as text."""
        return self.lost_reasons

    def do(self, parts: Mapping[str, StagedPart]) -> dict[str, StageAnswer]:
        """Run the parts on their hosts at the same time; a host that does not answer is lost and not in the result.

        Raises:
            WrightError: The control host does not answer, or the job has ended.
        """
        live_parts = {host: part for host, part in parts.items() if host not in self.lost_reasons}
        if not live_parts:
            return {}
        self.orders += 1
        state, answers = self._conduct(live_parts)
        for host in live_parts.keys() - answers.keys():
            self.lost_reasons[host] = _(
                "the host did not reply to request {number} of the bench ({program})",
                number=self.orders,
                program=live_parts[host].program,
            )
            self.log(f"{host}: {self.lost_reasons[host]}")
        if state not in RUNNING and not answers:
            raise _ended(self.job, state)
        return answers

    def _conduct(self, parts: Mapping[str, StagedPart]) -> tuple[str, dict[str, StageAnswer]]:
        limit_s = max(part.limit_s for part in parts.values()) + GRACE_S
        request = {
            "folder": self.folder,
            "name": f"{self.orders:05}",
            "limit_s": limit_s,
            "job": self.job,
            "order": order_of(parts),
        }
        result = Host(self.remote, self.control).run_as(
            self.user,
            program_command(),
            stdin=program_input(BENCH) + json.dumps(request).encode(),
            timeout_s=limit_s + SSH_S,
        )
        text = checked(result, self.control, "python3").out.rpartition(MARKER)[2]
        document = parse_answer(result, self.control, text)
        with evaluating(result, self.control):
            answers = {host: _answer(report) for host, report in document["answers"].items() if host in parts}
            return str(document["state"]), answers


def order_of(parts: Mapping[str, StagedPart]) -> dict[str, Any]:
    """Return the order, the document with the part of each host that its worker runs.

    Where hosts have equal arguments, it has them once in `given`, and each part their index; if all differ, each part
    has its own.
    """
    distinct: list[Any] = []
    for part in parts.values():
        if part.given not in distinct:
            distinct.append(part.given)
    if len(distinct) == len(parts):
        return {"parts": {host: asdict(part) for host, part in parts.items()}}
    indices = {host: {"given": distinct.index(part.given)} for host, part in parts.items()}
    return {"parts": {host: asdict(part) | indices[host] for host, part in parts.items()}, "given": distinct}


def cleanup_command(folder: str) -> str:
    """Return the shell line that stops the workers of a bench and deletes its folder."""
    quoted = shlex.quote(folder)
    return f"touch {quoted}/orders/stop; sleep 0.3; rm -rf {quoted}"


def _answer(report: Mapping[str, Any]) -> StageAnswer:
    """Return a host's report as an answer; a report with values of other types counts as a failure of the host."""
    code, *texts = (report[key] for key in ("code", "out", "err", "stopped"))
    if not isinstance(code, int) or not all(isinstance(text, str) for text in texts):
        return StageAnswer(1, "", "", _("the answer is malformed"))
    return StageAnswer(code, *texts)


def malformed(error: Exception) -> str:
    """Return why a host's output could not be parsed."""
    return (
        str(error)
        if type(error) is ValueError
        else _("the reply of the bench program is malformed: {error!r}", error=error)
    )


def _ended(job: str, state: str) -> WrightError:
    return WrightError.from_code(
        "bench-job-ended",
        _(
            "Slurm job {job} of the bench is {state}; the measurement stopped",
            job=job,
            state=state.lower(),
        ),
        _("see the reason: scontrol show job {job}; then run the bench again", job=job),
    )
