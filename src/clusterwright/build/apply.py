"""Make the hosts what the file says: one round trip per host to look, one more where something is to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from clusterwright.build.agent.agent import ANSWER
from clusterwright.build.bundle import Order, bundle, command
from clusterwright.build.report import Change, HostReport, Report
from clusterwright.build.resources import Given, Resource
from clusterwright.build.roles import wanted
from clusterwright.build.way_back import way_back
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.processes import TIMED_OUT, Done
from clusterwright.edge.secrets import munge_key, state_folder
from clusterwright.edge.sources import agent_sources, payload
from clusterwright.edge.ssh import SSH_FAILED, Remote, Ssh, fan_out
from clusterwright.edge.user_keys import user_keys
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.field import Cost
from clusterwright.spec.storage import Nfs

LOOK_S, ACT_S = 60, 1800  # looking takes a second; packages of a bare host over a slow mirror, half an hour

Agree = Callable[[Report], bool]


@dataclass(frozen=True, slots=True)
class _Work:
    """What one apply is about."""

    cluster: Cluster
    given: Given
    remote: Remote
    agent: list[tuple[str, str]]
    when: str

    def resources(self, host: str) -> tuple[Resource, ...]:
        return wanted(self.cluster, self.cluster.host(host), self.given)

    def ask(self, host: str, mode: Literal["check", "apply"], expect: str = "") -> HostReport:
        """One round trip."""
        data = bundle(Order(mode, self.given.source, self.when, expect), self.resources(host), self.agent)
        sudo = self.cluster.lab is None and self.cluster.ssh.user != "root"
        done = self.remote.run(
            host, command(sudo=sudo), stdin=data, timeout_s=LOOK_S if mode == "check" else ACT_S
        )
        return read_answer(host, done)


def remote_of(cluster: Cluster) -> Ssh:
    """How the file's hosts are reached: in a lab by its own ssh_config alone."""
    config = Path(cluster.ssh_config) if cluster.ssh_config else None
    if cluster.lab is not None:
        return Ssh(config=config)
    return Ssh(user=cluster.ssh.user, port=cluster.ssh.port, config=config)


def given_for(cluster: Cluster, source: str) -> Given:
    """What roles need beyond the file: the munge key (made the first time) and what jobs import."""
    folder = state_folder(cluster.name)
    secrets = {"munge.key": munge_key(folder), **user_keys(folder, cluster.users)}
    return Given(Path(source).name, secrets, payload())


def apply(  # noqa: PLR0913 (four of them are options that few give)
    cluster: Cluster,
    source: str,
    remote: Remote,
    *,
    only: Container[str] | None = None,
    dry_run: bool = False,
    agree: Agree = lambda _report: True,
    clock: Clock | None = None,
) -> Report:
    """Look at every host (or `only` at some), make the changes that `agree` is content with."""
    clock = clock or SystemClock()
    started = clock.monotonic()
    work = _Work(cluster, given_for(cluster, source), remote, agent_sources(), f"{int(clock.now()):d}")
    names = [host.name for host in cluster.hosts() if only is None or host.name in only]
    seen = fan_out(names, lambda host: way_back(cluster, work.ask(host, "check")))
    report = Report(tuple(seen.values()), dry=True, seconds=clock.monotonic() - started)
    if dry_run or not _to_do(report) or not agree(report):
        return report
    for wave in _waves(cluster, _to_do(report)):
        seen.update(fan_out(wave, partial(_act, work, seen)))
    return Report(tuple(seen[name] for name in names), dry=False, seconds=clock.monotonic() - started)


def _to_do(report: Report) -> list[str]:
    """Hosts that were reached and need something; an apply that was cut short is ended there too."""
    return [host.host for host in report.hosts if host.ok and (host.changes or host.interrupted)]


def _waves(cluster: Cluster, hosts: Iterable[str]) -> list[list[str]]:
    """All at once, but hosts that serve a folder before those that mount it."""
    servers = {folder.server for folder in cluster.storage.values() if isinstance(folder, Nfs)}
    names = list(hosts)
    waves = [[name for name in names if name in servers], [name for name in names if name not in servers]]
    return [wave for wave in waves if wave]


def _act(work: _Work, plans: dict[str, HostReport], host: str) -> HostReport:
    """Do what was shown. A host that has changed since is not touched: its plan is old."""
    seen = plans[host]
    report = work.ask(host, "apply", seen.sum)
    return replace(report, seconds=seen.seconds + report.seconds, interrupted=seen.interrupted)


def read_answer(host: str, done: Done) -> HostReport:
    """What the agent said, or why it said nothing."""
    lines = [line for line in done.out.splitlines() if line.startswith(ANSWER)]
    if not lines:
        return HostReport(host, error=_silence(done), reached=done.code != SSH_FAILED, seconds=done.seconds)
    answer: dict[str, Any] = json.loads(lines[-1].removeprefix(ANSWER))
    facts = answer["facts"]
    error = answer["error"]
    if answer["stale"]:
        error = "it changed since the plan was shown, and was left as it is; run again"
    return HostReport(
        host,
        changes=tuple(_change(row) for row in answer["changes"]),
        notes=tuple(answer["notes"]),
        error=error,
        sum=answer.get("sum", ""),
        interrupted=facts["interrupted"],
        job_steps=facts["job_steps"],
        reached_at=facts["reached_at"],
        reached_port=facts.get("reached_port", ""),
        came_from=facts.get("came_from", ""),
        seconds=done.seconds,
    )


def _change(row: dict[str, Any]) -> Change:
    done, drift = bool(row.get("done")), row.get("drift", "")
    return Change(row["id"], row["what"], row["diff"], Cost(row["cost"]), done, drift)


def _silence(done: Done) -> str:
    if done.code == TIMED_OUT:
        return (
            f"no answer after {done.seconds:.0f} s; what was begun there goes on, and it is safe to run again"
        )
    if done.code == 127:  # noqa: PLR2004 (a shell's code for a command that is not there)
        return f"python3 is missing there: {done.last_lines()}"
    return done.last_lines() or f"ssh ended with code {done.code} and no words"
