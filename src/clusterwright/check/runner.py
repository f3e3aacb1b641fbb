"""Read the facts of every host over one SSH connection each, the control host twice, and judge them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from clusterwright.check.expectation import Check, Occasion
from clusterwright.check.fact import Fact, HostSpec, Missing
from clusterwright.check.judging import judge
from clusterwright.check.reading import DEADLINE_S, HostReach, Reading, answer_of, reached, read, request
from clusterwright.check.registry import choose
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.edge.bundler import FACTS
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.host import Host
from clusterwright.edge.progress import Listener, ProgressEvent, ignore, reporting
from clusterwright.edge.ssh import SSH_FAILED, Remote, fan_out, ssh_problem
from clusterwright.i18n import _
from clusterwright.provision.change.hosts import require_hosts

GRACE_S = 10.0  # ours: for the connection and for the reader to end after its own deadline


def run(
    cluster: Cluster,
    remote: Remote | None = None,
    *,
    hosts: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    on: Occasion = "deploy",
    clock: Clock | None = None,
    on_event: Listener = ignore,
) -> list[Verdict]:
    """Run checks on hosts over SSH and return the verdicts; default: all hosts, all checks of the occasion.

    The control host is always read: it has Slurm's view, and other hosts are compared with it. `on_event` receives
    what runs on each host. A host that does not answer has a verdict, too.

    Raises:
        WrightError: `no-such-host`, `no-such-check`.
    """
    from clusterwright.provision.apply import remote_of

    remote = remote or remote_of(cluster)
    checks, chosen = choose(only or (), on), _chosen(cluster, hosts)
    specs = {
        host.name: HostSpec(cluster.on(host), host)
        for host in cluster.hosts()
        if host.name in {*chosen, cluster.control.name}
    }
    query_host = partial(_query_host, remote, clock or SystemClock(), specs)
    first_facts = {name: needed(checks, spec, second=False) for name, spec in specs.items()}
    readings = fan_out(
        specs,
        reporting(
            specs, lambda name: query_host(name, first_facts[name], {}), on_event, _("reading its state")
        ),
    )
    control = cluster.control.name
    later = needed(checks, specs[control], second=True)
    if later and not readings[control].reach.error:
        on_event(ProgressEvent(control, _("comparing the hosts")))
        second_reading = query_host(control, later, facts_by_host(later, readings))
        on_event(ProgressEvent(control, is_finished=True))
        readings[control] = Reading(
            readings[control].reach, {**readings[control].facts, **values_of(later, second_reading)}
        )
    return [
        verdict for verdict in judge(cluster, checks, readings) if verdict.subject in {*chosen, cluster.name}
    ]


def _chosen(cluster: Cluster, hosts: Iterable[str] | None) -> tuple[str, ...]:
    if hosts is None:
        return tuple(host.name for host in cluster.hosts())
    chosen = tuple(hosts)
    require_hosts(cluster, chosen)
    return chosen


def needed(checks: Iterable[Check], spec: HostSpec, *, second: bool) -> tuple[Fact[Any], ...]:
    """Return the facts that checks need of a host: in the first round those that depend on no other, else the rest.

    The first round also has the facts on which those of the second depend.
    """
    applicable_checks = [check for check in checks if second or (check.when(spec) and not check.unless(spec))]
    needed = [fact for check in applicable_checks for fact in check.needs if fact is not reached]
    chosen = (
        [fact for fact in needed if fact.depends_on]
        if second
        else [fact.depends_on or fact for fact in needed]
    )
    return tuple({fact.id: fact for fact in chosen}.values())


def facts_by_host(later: Iterable[Fact[Any]], readings: Mapping[str, Reading]) -> dict[str, dict[str, Any]]:
    """Return the values by host of each fact on which the facts of the second round depend, without missing values."""
    earlier = {fact.depends_on.id: fact.depends_on for fact in later if fact.depends_on}
    values = {
        id_: {name: reading.fact_value(fact) for name, reading in readings.items()}
        for id_, fact in earlier.items()
    }
    return {
        id_: {n: v for n, v in host_values.items() if not isinstance(v, Missing)}
        for id_, host_values in values.items()
    }


def values_of(later: Iterable[Fact[Any]], reading: Reading) -> dict[str, Any]:
    """Return by fact id the value that a reading has of each fact, or the Missing with its reason."""
    return {fact.id: reading.fact_value(fact) for fact in later}


def _query_host(
    remote: Remote,
    clock: Clock,
    specs: Mapping[str, HostSpec],
    name: str,
    facts: tuple[Fact[Any], ...],
    earlier: Mapping[str, Any],
) -> Reading:
    """Read facts of one host over one SSH connection; if that fails, the Reading has the error and no facts."""
    spec = specs[name]
    requested_at = clock.now()
    result = Host(remote, name).run_program(
        FACTS, stdin=request(facts, spec, earlier), root=True, timeout_s=DEADLINE_S + GRACE_S
    )
    answered = clock.now()
    if result.code == SSH_FAILED:
        error = ssh_problem(result, name) or result.last_lines(1) or _("ssh failed without a message")
        return Reading(HostReach(error=str(error), seconds=result.seconds))
    answer = answer_of(result.out)
    if answer is None:
        reason = _(
            "`python3` exited with code {code}: {last_lines}",
            code=result.code,
            last_lines=result.last_lines(1) or _("(no output)"),
        )
        return Reading(HostReach(fault=reason, seconds=result.seconds))
    reach = HostReach(
        seconds=result.seconds, python=answer["python"],
        requested_at=requested_at, began=answer["began"], ended=answer["ended"], answered=answered,
    )  # fmt: skip
    return Reading(reach, read(facts, answer, spec))
