"""One bench from beginning to end: hosts taken, asked what they are, measured, judged, given back, remembered."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from clusterwright import __version__
from clusterwright.check.bench.hold import Hosts, Wish, choose, held
from clusterwright.check.bench.site import Outcome, Site
from clusterwright.check.bench.stage import JobStage, Part
from clusterwright.check.bench.store import Stored, file_of, keep
from clusterwright.check.runner import run as checked
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.ssh import Remote

Kind = Literal["network", "collectives", "storage", "memory", "training", "loader", "gpu", "rdma", "burn_in"]
FEWEST = {
    "network": 2, "collectives": 2, "storage": 1, "memory": 1, "training": 2, "loader": 1, "gpu": 1, "rdma": 2,
    "burn_in": 1,
}  # fmt: skip
HELLO_S = 150.0  # ours: on a machine with 25 processes a core, asking took up to 26


def run(
    kind: Kind,
    cluster: Cluster,
    remote: Remote,
    wish: Wish,
    *,
    say: Callable[[str], None] = lambda _text: None,
    clock: Clock | None = None,
) -> Stored:
    """What the bench measured and what that means, as it was stored.

    Raises:
        WrightError: hosts cannot be had, Slurm refuses, or the control host does not answer.
    """
    clock, wish = clock or SystemClock(), replace(wish, fewest=max(wish.fewest, FEWEST[kind]))
    chosen = choose(cluster, remote, wish, clock)
    began = clock.now()
    with on_site(cluster, remote, chosen, wish, say=say, clock=clock) as (stage, site):
        facts, outcome = site.facts, bench_of(kind)(site)
    judged = (each for each in outcome.verdicts if each.subject not in stage.lost)
    verdicts = (*judged, *_lost(kind, stage), *_not_measured(kind, chosen))
    measured = Stored(
        0,
        kind,
        began,
        stage.job,
        stage.names,
        outcome.notes,
        outcome.measurements,
        verdicts,
        _versions(facts),
    )
    return replace(measured, id=keep(file_of(cluster.name), measured))


@contextmanager
def on_site(
    cluster: Cluster,
    remote: Remote,
    chosen: Hosts,
    wish: Wish,
    *,
    say: Callable[[str], None],
    clock: Clock,
) -> Iterator[tuple[JobStage, Site]]:
    """The hosts held, and what each said of itself; given back afterwards.

    Raises:
        WrightError: Slurm refuses, or the job does not start within the limit.
    """
    with held(cluster, remote, chosen.free, wish, clock, say) as stage:
        say(f"job {stage.job} holds {fold(list(stage.names))}")
        on_load = partial(checked, cluster, remote, hosts=stage.names, on="burn-in", clock=clock)
        yield stage, Site(cluster, stage, _facts(cluster, stage), say, wish.lasts_s, on_load)


def bench_of(kind: Kind) -> Callable[[Site], Outcome]:
    """The bench of that name: a file of kinds/ and the function in it."""
    found: Callable[[Site], Outcome] = getattr(importlib.import_module(f"{__package__}.kinds.{kind}"), kind)
    return found


def _facts(cluster: Cluster, stage: JobStage) -> dict[str, Mapping[str, Any]]:
    """What each host says of itself; one that cannot is lost."""
    hello = Part("hello", {"python": cluster.software.python}, HELLO_S)
    answers = stage.do(dict.fromkeys(stage.hosts, hello))
    stage.gone |= {host: f"hello {answer.why}" for host, answer in answers.items() if answer.why}
    return {host: answers[host].document for host in stage.hosts}


def _versions(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    return {host: {**found["versions"], "clusterwright": __version__} for host, found in facts.items()}


def _lost(kind: Kind, stage: JobStage) -> Iterator[Verdict]:
    """Hosts that stopped answering fail, whatever they measured before."""
    for host, when in stage.lost.items():
        mend = f"see what it says: scontrol show node {host}; journalctl -u slurmd there"
        yield Verdict(host, kind, Status.FAIL, when, "an answer to every order", mend)


def _not_measured(kind: Kind, chosen: Hosts) -> Iterator[Verdict]:
    for host, state in chosen.away.items():
        yield Verdict(host, kind, Status.UNKNOWN, f"not measured: Slurm says {state}")
    for host in chosen.busy:
        yield Verdict(host, kind, Status.SKIPPED, "not measured: a job has it")
