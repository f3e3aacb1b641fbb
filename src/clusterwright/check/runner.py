"""Asks every host once over ssh, the control host a second time, and judges what they said."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from clusterwright.check.expectation import Check, Occasion
from clusterwright.check.fact import Fact, Missing, Want
from clusterwright.check.judging import judge
from clusterwright.check.reading import DEADLINE_S, Reach, Reading, answer_of, reached, read, request
from clusterwright.check.registry import choose
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.edge.bundler import FACTS
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import SSH_FAILED, Remote, fan_out
from clusterwright.errors import EXIT_USAGE, WrightError

GRACE_S = 10.0  # ours: for the connection and for the reader to end after its own deadline


def run(
    cluster: Cluster,
    remote: Remote,
    *,
    hosts: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    on: Occasion = "deploy",
    clock: Clock | None = None,
) -> list[Verdict]:
    """Every verdict on the hosts (all of them if left out) by the checks (those of the occasion if left out).

    The control host is always asked, because Slurm is seen from there and the others are compared with it.

    Raises:
        WrightError: there is no such host or check.
    """
    checks, chosen = choose(only or (), on), _chosen(cluster, hosts)
    wants = {
        host.name: Want(cluster, host)
        for host in cluster.hosts()
        if host.name in {*chosen, cluster.control.name}
    }
    ask = partial(_ask, remote, clock or SystemClock(), wants)
    first = {name: _needed(checks, want, second=False) for name, want in wants.items()}
    readings = fan_out(wants, lambda name: ask(name, first[name], {}))
    control = cluster.control.name
    later = _needed(checks, wants[control], second=True)
    if later and not readings[control].reach.error:
        again = ask(control, later, _by_host(later, readings))
        readings[control] = Reading(
            readings[control].reach, {**readings[control].facts, **_found(later, again)}
        )
    return [each for each in judge(cluster, checks, readings) if each.subject in {*chosen, cluster.name}]


def _chosen(cluster: Cluster, hosts: Iterable[str] | None) -> tuple[str, ...]:
    known = [host.name for host in cluster.hosts()]
    chosen = known if hosts is None else list(hosts)
    for name in chosen:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            mend = f"did you mean `{near[0]}`?" if near else f"its hosts are {', '.join(known[:8])}"
            raise WrightError.of(
                "no-such-host", f"cluster `{cluster.name}` has no host `{name}`", mend, exit_code=EXIT_USAGE
            )
    return tuple(chosen)


def _needed(checks: Iterable[Check], want: Want, *, second: bool) -> tuple[Fact[Any], ...]:
    asked = [each for each in checks if second or (each.when(want) and not each.unless(want))]
    needed = [fact for each in asked for fact in each.needs if fact is not reached]
    chosen = [fact for fact in needed if fact.after] if second else [fact.after or fact for fact in needed]
    return tuple({fact.id: fact for fact in chosen}.values())


def _by_host(later: Iterable[Fact[Any]], readings: Mapping[str, Reading]) -> dict[str, dict[str, Any]]:
    earlier = {fact.after.id: fact.after for fact in later if fact.after}
    values = {
        id_: {name: reading.of(fact) for name, reading in readings.items()} for id_, fact in earlier.items()
    }
    return {
        id_: {n: v for n, v in found.items() if not isinstance(v, Missing)} for id_, found in values.items()
    }


def _found(later: Iterable[Fact[Any]], reading: Reading) -> dict[str, Any]:
    return {fact.id: reading.of(fact) for fact in later}


def _ask(
    remote: Remote,
    clock: Clock,
    wants: Mapping[str, Want],
    name: str,
    facts: tuple[Fact[Any], ...],
    earlier: Mapping[str, Any],
) -> Reading:
    """One ssh: the host's answer, or why there is none."""
    want = wants[name]
    asked = clock.now()
    done = Host(remote, name).run_program(
        FACTS, stdin=request(facts, want, earlier), root=True, timeout_s=DEADLINE_S + GRACE_S
    )
    answered = clock.now()
    if done.code == SSH_FAILED:
        return Reading(Reach(error=done.last_lines(1) or "ssh said nothing", seconds=done.seconds))
    answer = answer_of(done.out)
    if answer is None:
        why = f"`python3` there returned {done.code}: {done.last_lines(1) or '(nothing)'}"
        return Reading(Reach(fault=why, seconds=done.seconds))
    reach = Reach(
        seconds=done.seconds, python=answer["python"],
        asked=asked, began=answer["began"], ended=answer["ended"], answered=answered,
    )  # fmt: skip
    return Reading(reach, read(facts, answer, want))
