"""One SSH round trip to a host: the input of the provisioning agent, and its parsed answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

from clusterwright.config.cluster import Cluster
from clusterwright.config.field import Cost
from clusterwright.edge.bundler import PROVISION
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.progress import Listener, ProgressEvent, ignore, lines_with
from clusterwright.edge.ssh import SSH_FAILED, Remote, ssh_problem
from clusterwright.i18n import _
from clusterwright.onhost.lib.processes import TIMED_OUT
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, parse_document
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.onhost.provision.change import Verb
from clusterwright.onhost.provision.files import diff_of
from clusterwright.onhost.provision.timings import STEP
from clusterwright.platforms import names_by_os_release
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.package_bundle.archive import Bundle
from clusterwright.provision.package_bundle.delivery import deliver
from clusterwright.provision.report import Change, HostReport, Timing
from clusterwright.provision.resources import File, Resource, encode_content
from clusterwright.units import human_duration

Mode = Literal["check", "fetch", "apply", "list"]

NOTHING: Mapping[str, str] = {}
# A check takes a second; packages of a new host over a slow mirror, half an hour.
CHECK_TIMEOUT_S, APPLY_TIMEOUT_S = 60, 1800
LOCK_TIMEOUT_S = 10  # an apply whose SSH connection broke ends its changes within seconds, packages aside


@dataclass(frozen=True, slots=True)
class HostWork:
    """What one apply does on all hosts: make their desired `resources` or, with `to`, roll back that apply."""

    cluster: Cluster
    source: str
    remote: Remote
    clock: Clock
    when: str
    resources: Callable[[str], tuple[Resource, ...]] = lambda _host: ()
    shared: tuple[str, ...] = ()
    to: str = ""
    package_bundle: Bundle | None = None
    on_event: Listener = ignore
    role_of: Callable[[str, str], str] = lambda _host, _id: ""  # the role that declares a resource of a host

    @property
    def control(self) -> Host:
        """Return the control host, where Slurm commands run."""
        return Host(self.remote, self.cluster.control.name)

    def run_agent(
        self, host: str, mode: Mode, expect: str = "", skipped_sets: Mapping[str, str] = NOTHING
    ) -> HostReport:
        """Run the apply program on a host over one SSH connection, and return the host's report.

        `expect` is the checksum of the agreed plan: another one is not applied. Package sets in `skipped_sets` are
        left out.
        """
        began = self.clock.monotonic()
        order = Order(
            mode,
            self.source,
            self.when,
            expect,
            os=self.cluster.on(self.cluster.host(host)).os,
            os_names=names_by_os_release(),
            to=self.to,
            idle=True,
            skip_sets=skipped_sets,
            package_bundle=self.package_bundle is not None,
            lock_timeout_s=LOCK_TIMEOUT_S,
            removes=self.cluster.manage is None,
        )
        listens = self.on_event is not ignore and mode in ("apply", "fetch")
        order = replace(order, progress=listens)
        data = bundle(order, self.resources(host), self.shared)
        sent_at, render_s = self.clock.now(), self.clock.monotonic() - began
        limit_s = APPLY_TIMEOUT_S if mode in ("apply", "fetch") else CHECK_TIMEOUT_S
        with self._reported_steps(host) if listens else nullcontext():
            result = Host(self.remote, host).run_program(PROVISION, stdin=data, root=True, timeout_s=limit_s)
        report = read_answer(host, result, sent_at, self.clock.now(), self.resources(host))
        return replace(report, timings=_timings(mode, result.seconds, report.timings, render_s))

    def deliver(self, planned: HostReport) -> HostReport | None:
        """Copy the package bundle to a host that installs packages; return a report of the error, None without one.

        Does nothing without a bundle, or if no package is due.
        """
        installs = any(change.id.startswith("package:") for change in planned.changes)
        if self.package_bundle is None or not installs:
            return None
        self.on_event(ProgressEvent(planned.host, _("copying the package bundle")))
        error = deliver(self.package_bundle, Host(self.remote, planned.host))
        return HostReport(planned.host, error=error, fault_domain="host") if error else None

    def fetch(self, planned: HostReport) -> HostReport:
        """Download the packages that a host is to install, without installing them; return the host's report."""
        return self.deliver(planned) or self.run_agent(planned.host, "fetch")

    @contextmanager
    def _reported_steps(self, host: str) -> Iterator[None]:
        """Report each step that the agent on the host begins in a `with` block, with its role, by `on_event`."""

        def report(step: str) -> None:
            role = self.role_of(host, step)
            self.on_event(ProgressEvent(host, f"{role}: {step}" if role else step))

        with lines_with(STEP, report):
            yield


def _timings(phase: str, ssh_s: float, on_host: tuple[Timing, ...], render_s: float) -> tuple[Timing, ...]:
    """Return render, connect and on-host timings; connect is the SSH time beyond the on-host steps."""
    connect_s = max(0.0, ssh_s - sum(timing.seconds for timing in on_host))
    connect_timings = (Timing(phase, "render", render_s), Timing(phase, "connect", connect_s))
    return (*connect_timings, *(replace(timing, phase=phase) for timing in on_host))


def stamp(clock: Clock) -> str:
    """Return a name for an apply: the UTC time such as `20261128-173000`, so that names sort by time."""
    return datetime.fromtimestamp(clock.now(), UTC).strftime("%Y%m%d-%H%M%S")


def read_answer(
    host: str,
    result: CommandResult,
    sent_at: float = 0.0,
    received_at: float = 0.0,
    resources: Iterable[Resource] = (),
) -> HostReport:
    """Return the report of a host from the output of its apply program; an absent or malformed answer is its error."""
    lines = [line for line in result.out.splitlines() if line.startswith(ANSWER)]
    if not lines:
        reached = result.code != SSH_FAILED
        fault_domain: Literal["host", "change"] = "change" if "Traceback" in result.err else "host"
        return HostReport(
            host,
            error=_no_answer_reason(host, result),
            reached=reached,
            seconds=result.seconds,
            fault_domain=fault_domain,
        )
    try:
        return _report_of(
            host,
            parse_document(lines[-1].removeprefix(ANSWER), allow_nan=True),
            result,
            sent_at,
            received_at,
            resources,
        )
    except DATA_ERRORS:
        error = _("the agent's answer is malformed; check python3 and the shell profiles of root on the host")
        return HostReport(host, error=error, seconds=result.seconds, fault_domain="host")


def _report_of(
    host: str,
    answer: dict[str, Any],
    result: CommandResult,
    sent_at: float,
    received_at: float,
    resources: Iterable[Resource],
) -> HostReport:
    """Return the agent's answer, which root of the host can forge, as a report.

    A stale answer is an error of the host.

    Raises:
        ValueError, LookupError, TypeError, AttributeError, ArithmeticError: the answer is malformed.
    """
    facts, error, fault_domain = answer["facts"], answer["error"], answer.get("fault_domain", "change")
    if answer["stale"]:
        error = _("the host has changed since the plan was shown and was not modified; run the command again")
        fault_domain = "host"
    return HostReport(
        host,
        changes=tuple(_change(row) for row in _with_diffs(answer["changes"], resources)),
        notes=_texts(answer["notes"]),
        error=_text(error),
        sum=_text(answer.get("sum", "")),
        interrupted=bool(facts["interrupted"]),
        job_steps=int(facts["job_steps"]),
        reached_at=_text(facts["reached_at"]),
        reached_port=_text(facts.get("reached_port", "")),
        ssh_source=_text(facts.get("ssh_source", "")),
        seconds=result.seconds,
        fault_domain=fault_domain if error else "",
        boot=_text(facts.get("boot", "")),
        owes=_texts(facts.get("owes", [])),
        unavailable={name: _text(reason) for name, reason in answer.get("unavailable", {}).items()},
        unavailable_ids=_texts(answer.get("unavailable_ids", [])),
        timings=tuple(
            Timing("", name, float(seconds)) for name, seconds in answer.get("timings", {}).items()
        ),
        clock_off_s=_off(_number(facts.get("now")), sent_at, received_at),
        undoes=tuple(
            (_text(row["when"]), _text(row["source"]), _text(row["to"]), int(row["changed"]))
            for row in answer.get("applies", ())
        ),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(values)
    return tuple(map(_text, values))


def _number(value: float | None) -> float | None:
    if value is not None and not isfinite(value):
        raise ValueError(value)
    return value


def _off(now: float | None, sent_at: float, received_at: float) -> float:
    """Return by how many seconds a host's clock is ahead (negative: behind).

    Returns 0 if its time is between sending and receiving, or if either clock is unknown.
    """
    if now is None or not received_at or sent_at <= now <= received_at:
        return 0.0
    return now - received_at if now > received_at else now - sent_at


def _with_diffs(rows: list[dict[str, Any]], resources: Iterable[Resource]) -> list[dict[str, Any]]:
    """Return the rows with the diffs that the agent omits: those of new files whose contents all hosts share."""
    contents = {resource.id: resource.content for resource in resources if isinstance(resource, File)}
    return [
        row if row["diff"] is not None else row | {"diff": _new_file(row["id"], contents[row["id"]])}
        for row in rows
    ]


@lru_cache(maxsize=1024)
def _new_file(name: str, content: str | bytes) -> str:
    return diff_of(name.partition(":")[2], b"", encode_content(content))


def _change(row: dict[str, Any]) -> Change:
    cost, drift = Cost(row["cost"]), _text(row.get("drift", ""))
    verbs = tuple(map(Verb, row["verbs"]))
    id_, summary, diff = _text(row["id"]), _text(row["summary"]), _text(row["diff"])
    return Change(id_, summary, diff, cost, verbs, bool(row.get("applied")), drift)


def _no_answer_reason(host: str, result: CommandResult) -> str:
    if result.code == SSH_FAILED and (problem := ssh_problem(result, host)):
        return str(problem)
    if result.code == TIMED_OUT:
        return _(
            "no response after {duration}; changes that have started continue on the host; run the command again",
            duration=human_duration(result.seconds),
        )
    if result.code == 127:
        return _("python3 is not installed on the host: {error}", error=result.last_lines())
    return result.last_lines() or _("ssh exited with code {code} and no output", code=result.code)
