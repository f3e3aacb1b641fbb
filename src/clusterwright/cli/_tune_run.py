"""The searches on the cluster: hosts held by one job, trials, and what they came to."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from clusterwright.check.bench.hold import Wish, choose
from clusterwright.check.bench.run import FEWEST, on_site
from clusterwright.check.bench.site import Site
from clusterwright.check.tune.network import tune_network
from clusterwright.check.tune.training import Subject, tune_training
from clusterwright.check.tune.trials import Tuned
from clusterwright.check.tune.written import OF_CLUSTER, OF_JOB
from clusterwright.cli._bench import first_admin
from clusterwright.cli._show import say
from clusterwright.cli._tune import Common
from clusterwright.cli._tune_shown import concluded
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.load import load_both, source_of
from clusterwright.config.reader import read
from clusterwright.edge.clock import SystemClock
from clusterwright.launch.command import command, python
from clusterwright.launch.script import settings
from clusterwright.provision.apply import remote_of
from clusterwright.provision.change.fields import Said
from clusterwright.units import parse_duration


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says of a training."""

    job: Path
    cluster: Path
    steps: int
    limit: str
    numbers: bool


def tuned_network(path: Path, options: Common) -> int:
    """The search, what it came to, and the winner into the cluster file if that is wanted."""
    budget, before = options.trials, Said.of(source_of(path))
    wish = options.wish(first_admin(before.cluster), FEWEST["collectives"])
    found = _on_hosts(before.cluster, wish, lambda site: tune_network(site, budget, options.names))
    concluded(path, found, options, OF_CLUSTER, check=lambda text: Said.of(read(text, str(path))))
    return 0


def tuned_training(asked: Asked, options: Common) -> int:
    """The search, what it came to, and the winner into the job file if that is wanted."""
    budget, limit_s = options.trials, parse_duration(asked.limit)
    job, cluster = load_both(asked.job, asked.cluster)
    subject = Subject(source_of(asked.job).text, lambda job: _rank(job, cluster), asked.steps, limit_s)
    wish = options.wish(job.user or first_admin(cluster), job.nodes, job.partition or "")

    def search(site: Site) -> Tuned:
        return tune_training(site, subject, budget, options.names, numbers=asked.numbers)

    found = _on_hosts(cluster, wish, search, most=job.nodes)
    concluded(asked.job, found, options, OF_JOB)
    return 0


def _on_hosts(
    cluster: Cluster, wish: Wish, search: Callable[[Site], Tuned], most: int | None = None
) -> Tuned:
    """The search on hosts that are held meanwhile; on so many of them at most."""
    clock, remote = SystemClock(), remote_of(cluster)
    chosen = choose(cluster, remote, wish, clock)
    chosen = replace(chosen, free=chosen.free[:most])
    with on_site(cluster, remote, chosen, wish, say=say, clock=clock) as (_stage, site):
        return search(site)


def _rank(job: Job, cluster: Cluster) -> str:
    """A rank as a script of bash: what the job's processes find, then its command."""
    return f"{settings(job, cluster)}\nexec {shlex.join((python(job, cluster), *command(job)))}\n"
