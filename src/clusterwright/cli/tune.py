"""`wright tune`: search faster settings of the network and of trainings, and write them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from clusterwright.cli._quantities import Duration
from clusterwright.cli._show import show_message, show_verbatim
from clusterwright.cli._tune_output import show_trials
from clusterwright.cli.bench import (
    NO_NETWORK,
    IdleHosts,
    IdleNodes,
    IdleWait,
    NetworkOptions,
    SlurmAccount,
    most_nodes,
)
from clusterwright.i18n import _
from clusterwright.units import parse_duration

if TYPE_CHECKING:
    from clusterwright.check.bench.bench_job import HostRequest
    from clusterwright.check.bench.site import BenchSite
    from clusterwright.check.tune.trials import Budget, Tuned
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job


def _require_trials(_type: object, trials: int) -> None:
    from clusterwright.check.tune.trials import Budget

    Budget(trials, 0)


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """The options of both searches as typed."""

    budget: Annotated[
        int, Parameter(help="Number of trials; each restarts all ranks.", validator=_require_trials)
    ] = 60
    seed: Annotated[int, Parameter(help="Seed of the order of trials.")] = 1
    knobs: Annotated[
        str, Parameter(help="Settings to vary, separated by commas; default: all that may matter.")
    ] = ""
    hosts: IdleHosts = ""
    nodes: IdleNodes = None
    wait: IdleWait = "10m"
    account: SlurmAccount = ""
    network: NetworkOptions = NO_NETWORK
    write: Annotated[bool, Parameter(negative="", help="Write the best settings into the file.")] = False
    json: Annotated[
        bool, Parameter(negative="", help="Print one JSON document: every trial and the result.")
    ] = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the settings that --knobs selects; empty for all."""
        return tuple(name.strip() for name in self.knobs.split(",") if name.strip())

    @property
    def trials(self) -> Budget:
        """Return the budget of trials; raise WrightError if it is too small."""
        from clusterwright.check.tune.trials import Budget

        return Budget(self.budget, self.seed)

    def host_request(
        self, cluster: Cluster, user: str | None, fewest: int, partition: str = ""
    ) -> HostRequest:
        """Return the request for the hosts on which trials run; at least `fewest` of them."""
        from clusterwright.check.bench.bench_job import HostRequest
        from clusterwright.check.bench.script import JobResources
        from clusterwright.cli._hostlist import hosts_of
        from clusterwright.units import parse_duration

        return HostRequest(
            user,
            hosts_of(cluster, self.hosts) or (),
            partition,
            wait_s=parse_duration(self.wait),
            fewest=max(fewest, self.nodes or 0),
            most=most_nodes(cluster, self.hosts, self.nodes),
            allocation=JobResources(account=self.account),
        )


DEFAULTS = Common()


tune = App(name="tune", help="Find settings that make jobs faster, by experiments on the cluster.")


@tune.command
def network(*, cluster: Path | None = None, options: Common = DEFAULTS) -> int:
    """Find faster settings of collectives by trials against the current settings.

    The best settings go to the cluster file (jobs.variables); `wright apply` deploys them to all jobs.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    """
    from clusterwright.cli._connection import cluster_file, is_unmanaged, unmanaged_cluster

    if is_unmanaged(cluster):
        return tuned_learned_network(options.network.applied_to(unmanaged_cluster(cluster)), options)
    return tuned_network(cluster_file(cluster, accepts_login=True), options)


@tune.command
def training(
    file: Path,
    /,
    *,
    cluster: Path | None = None,
    steps: Annotated[int, Parameter(validator=Number(gte=1))] = 20,
    limit: Duration = "10m",
    allow_numbers: Annotated[bool, Parameter(negative="")] = False,
    options: Common = DEFAULTS,
) -> int:
    """Find settings that make the steps of a training faster, by short trial runs.

    Each trial starts at step 0 in its own folder and saves no checkpoints; a program that writes elsewhere still does.
    The best settings go to the job file.

    Parameters
    ----------
    file
        Job file.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, ./cluster.yaml, or cluster.yaml beside the job file.
    steps
        Measured steps per trial, after three warm-up steps.
    limit
        Longest time of a trial.
    allow_numbers
        Also try settings that change results: gradients in 16 bits.
    """
    from clusterwright.cli._connection import cluster_file, is_unmanaged, unmanaged_cluster

    target = (
        unmanaged_cluster(cluster)
        if is_unmanaged(cluster, file)
        else cluster_file(cluster, file, accepts_login=True)
    )
    training_options = TrainingOptions(file, target, steps, limit, allow_numbers)
    return tuned_training(training_options, options)


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The options of `wright tune training`."""

    job: Path
    cluster: Path | Cluster
    steps: int
    limit: str
    numbers: bool


def tuned_network(path: Path, options: Common) -> int:
    """Search the fastest network settings by runs on hosts, print them, and if requested write the cluster file.

    Return 0.
    """
    from clusterwright.check.bench.run import FEWEST
    from clusterwright.check.tune.network import tune_network
    from clusterwright.check.tune.written import OF_CLUSTER
    from clusterwright.cli.bench import first_admin
    from clusterwright.config.load import source_of
    from clusterwright.config.reader import read
    from clusterwright.provision.change.fields import ClusterFile

    budget, current_file = options.trials, ClusterFile.from_source(source_of(path))
    host_request = options.host_request(
        current_file.cluster, first_admin(current_file.cluster), FEWEST["collectives"]
    )
    result = _on_hosts(
        current_file.cluster, host_request, lambda site: tune_network(site, budget, options.names)
    )
    concluded(
        path, result, options, OF_CLUSTER, check=lambda text: ClusterFile.from_source(read(text, str(path)))
    )
    return 0


def tuned_learned_network(cluster: Cluster, options: Common) -> int:
    """Search the best network settings of a cluster without a file, and print them for job files.

    Return 0.

    Raises:
        WrightError: the network is not known, or a file is to be written.
    """
    from clusterwright.check.bench.run import FEWEST
    from clusterwright.check.tune.network import tune_network
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.learned_network import require_network

    require_network(cluster, "tune network")
    if options.write:
        raise WrightError.from_code(
            "unmanaged-cluster",
            _("--write has no cluster file to write to: Clusterwright did not build this cluster"),
            _("copy the settings to environment.variables of your job files"),
            exit_code=EXIT_USAGE,
        )
    budget, host_request = options.trials, options.host_request(cluster, None, FEWEST["collectives"])
    result = _on_hosts(cluster, host_request, lambda site: tune_network(site, budget, options.names))
    winner = dict(result.outcome.winner.pairs)
    show_trials(result, {"winner": winner, "gain": result.outcome.gain}, json=options.json)
    if winner and not options.json:
        settings = "".join(f"    {name}: {json.dumps(value)}\n" for name, value in winner.items())
        show_message(_("for job files:"))
        show_verbatim(f"environment:\n  variables:\n{settings}")
    return 0


def tuned_training(training_options: TrainingOptions, options: Common) -> int:
    """Search the fastest settings of a training by runs of it, print them, and if requested write them to its job file.

    Return 0.
    """
    from clusterwright.check.tune.training import Subject, tune_training
    from clusterwright.check.tune.written import OF_JOB
    from clusterwright.cli.bench import first_admin
    from clusterwright.config.load import load_both, load_job, source_of
    from clusterwright.plan.learned_network import require_network

    budget, limit_s = options.trials, parse_duration(training_options.limit)
    if isinstance(training_options.cluster, Path):
        job, cluster = load_both(training_options.job, training_options.cluster)
    else:
        cluster = options.network.applied_to(training_options.cluster)
        job = load_job(training_options.job, cluster)
        require_network(cluster, "tune training")
    subject = Subject(
        source_of(training_options.job).text, lambda job: _rank(job, cluster), training_options.steps, limit_s
    )
    host_request = options.host_request(
        cluster, job.user or first_admin(cluster), job.nodes, job.partition or ""
    )

    def search(site: BenchSite) -> Tuned:
        return tune_training(site, subject, budget, options.names, numbers=training_options.numbers)

    result = _on_hosts(cluster, host_request, search, most=job.nodes)
    concluded(training_options.job, result, options, OF_JOB)
    return 0


def _on_hosts(
    cluster: Cluster, host_request: HostRequest, search: Callable[[BenchSite], Tuned], most: int | None = None
) -> Tuned:
    """Allocate hosts by a Slurm job, at most `most`, run the search on them, release them, and return the result."""
    from clusterwright.check.bench.bench_job import choose
    from clusterwright.check.bench.run import on_site
    from clusterwright.edge.clock import SystemClock
    from clusterwright.provision.apply import remote_of

    clock, remote = SystemClock(), remote_of(cluster)
    chosen = choose(cluster, remote, host_request, clock)
    chosen = replace(chosen, free=chosen.free[:most])
    with on_site(cluster, remote, chosen, host_request, log=show_message, clock=clock) as (_stage, site):
        return search(site)


def _rank(job: Job, cluster: Cluster) -> str:
    """Return a bash script that runs a rank: the job's environment, then its command."""
    from clusterwright.launch.command import command, python
    from clusterwright.launch.script import settings

    return f"{settings(job, cluster)}\nexec {shlex.join((python(job, cluster), *command(job)))}\n"


def concluded(
    path: Path,
    result: Tuned,
    options: Common,
    variables: tuple[str, ...],
    check: Callable[[str], object] | None = None,
) -> None:
    """Print every trial, the summary and the diff of the file; write the file if requested.

    `variables` is the place of the settings in the file; `check` raises for a new text that is invalid.
    """
    from clusterwright.check.tune.written import difference, with_settings
    from clusterwright.config.load import source_of
    from clusterwright.edge.files import write_file_atomic

    outcome = result.outcome
    current_text = source_of(path).text
    tuned_text = with_settings(current_text, outcome.winner, variables)
    diff = difference(current_text, tuned_text, str(path))
    show_trials(
        result,
        {"winner": dict(outcome.winner.pairs), "gain": outcome.gain, "diff": diff},
        diff,
        json=options.json,
    )
    if diff and options.write:
        (check or _job)(tuned_text)
        write_file_atomic(path, tuned_text, mode=path.stat().st_mode & 0o777)
    if diff:
        show_message(
            _("written to {file}; `patch -R` with this diff reverts it", file=path)
            if options.write
            else _("pass --write to write this to {file}", file=path)
        )


def _job(text: str) -> object:
    from clusterwright.config.load import job_of
    from clusterwright.config.reader import read

    return job_of(read(text, _("the job file")))
