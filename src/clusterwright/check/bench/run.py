"""Run one bench: allocate hosts, read their facts, measure, judge, release the hosts, and store the results."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from clusterwright import __version__
from clusterwright.check.bench.bench_job import HostRequest, Hosts, choose, reserve_hosts
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.stage import JobStage, StagedPart, malformed
from clusterwright.check.bench.store import Stored, file_of, save
from clusterwright.check.runner import run as checked
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.ssh import Remote
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS
from clusterwright.plan.learned_network import require_network

Kind = Literal["network", "collectives", "storage", "memory", "training", "loader", "gpu", "rdma", "burn_in"]
FEWEST = {
    "network": 2, "collectives": 2, "storage": 1, "memory": 1, "training": 2, "loader": 1, "gpu": 1, "rdma": 2,
    "burn_in": 1,
}  # fmt: skip
NEEDS_RATE = frozenset({"collectives", "training", "rdma"})  # on a learned cluster, from the user
HELLO_S = 150.0  # ours: on a machine with 25 processes a core, an answer took up to 26 s


def run(
    kind: Kind,
    cluster: Cluster,
    remote: Remote,
    request: HostRequest,
    *,
    log: Callable[[str], None] = lambda _text: None,
    clock: Clock | None = None,
) -> Stored:
    """Run a bench on hosts that it allocates by a Slurm job; store measurements and verdicts, and return them.

    Verdicts on lost hosts only say that they are lost; hosts that were busy or unavailable have one, too.

    Raises:
        WrightError: There are too few hosts, Slurm rejects the job, or the control host does not answer.
    """
    if kind in NEEDS_RATE:
        require_network(cluster, f"bench {kind}")
    clock, request = clock or SystemClock(), replace(request, fewest=max(request.fewest, FEWEST[kind]))
    chosen = choose(cluster, remote, request, clock)
    began = clock.now()
    with on_site(cluster, remote, chosen, request, log=log, clock=clock) as (stage, site):
        facts, outcome = site.facts, bench_of(kind)(site)
    judged = (verdict for verdict in outcome.verdicts if verdict.subject not in stage.lost_hosts)
    verdicts = (*judged, *_lost_hosts(kind, stage), *_skipped_hosts(kind, chosen))
    result = Stored(
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
    return replace(result, id=save(file_of(cluster.name), result))


@contextmanager
def on_site(
    cluster: Cluster,
    remote: Remote,
    chosen: Hosts,
    request: HostRequest,
    *,
    log: Callable[[str], None],
    clock: Clock,
) -> Iterator[tuple[JobStage, BenchSite]]:
    """Allocate the hosts, read their facts, yield the job's stage and the bench's site; release the hosts afterwards.

    Raises:
        WrightError: Slurm rejects the job, or it does not start within the timeout.
    """
    with reserve_hosts(cluster, remote, chosen.free, request, clock, log) as stage:
        log(_("job {job} runs on {hosts}", job=stage.job, hosts=fold(list(stage.names))))
        on_load = partial(checked, cluster, remote, hosts=stage.names, on="burn-in", clock=clock)
        # A user of a learned cluster cannot log in to its hosts.
        check = list if cluster.unmanaged else on_load
        yield stage, BenchSite(cluster, stage, _facts(cluster, stage), log, request.lasts_s, check)


def bench_of(kind: Kind) -> Callable[[BenchSite], BenchOutcome]:
    """Return the bench with the name: the function NAME in the file kinds/NAME.py."""
    bench: Callable[[BenchSite], BenchOutcome] = getattr(
        importlib.import_module(f"{__package__}.kinds.{kind}"), kind
    )
    return bench


def _facts(cluster: Cluster, stage: JobStage) -> dict[str, Mapping[str, Any]]:
    """Read the versions, interfaces and tools of each host on the stage; a host that fails counts as lost."""
    hello = StagedPart("hello", {"python": cluster.software.python}, HELLO_S)
    answers = stage.do(dict.fromkeys(stage.hosts, hello))
    stage.lost_reasons |= {
        host: f"hello {answer.reason}" for host, answer in answers.items() if answer.reason
    }
    facts: dict[str, Mapping[str, Any]] = {}
    for host in stage.hosts:
        try:
            document = answers[host].document
            facts[host] = {key: dict(document[key]) for key in ("versions", "interfaces", "tools")} | document
        except DATA_ERRORS as error:
            stage.lost_reasons[host] = f"hello {malformed(error)}"
    return facts


def _versions(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    return {
        host: {**host_facts["versions"], "clusterwright": __version__} for host, host_facts in facts.items()
    }


def _lost_hosts(kind: Kind, stage: JobStage) -> Iterator[Verdict]:
    """Yield a `fail` verdict for each host that stopped answering, whatever it measured before."""
    for host, when in stage.lost_hosts.items():
        fix = _("run `scontrol show node {host}`, and `journalctl -u slurmd` on the host", host=host)
        yield Verdict(host, kind, Status.FAIL, when, _("the host replies to every request of the bench"), fix)


def _skipped_hosts(kind: Kind, chosen: Hosts) -> Iterator[Verdict]:
    for host, state in chosen.unavailable.items():
        yield Verdict(
            host,
            kind,
            Status.UNKNOWN,
            _("the bench did not measure the host: its node is {state} in Slurm", state=state),
        )
    for host in chosen.busy:
        yield Verdict(
            host,
            kind,
            Status.SKIPPED,
            _("the bench did not measure the host, because it is allocated to a job"),
        )
