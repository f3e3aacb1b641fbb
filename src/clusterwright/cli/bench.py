"""`wright bench`: one command per benchmark, and the list and comparison of stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from clusterwright.cli._live_names import HOSTS, PARTITIONS
from clusterwright.cli._quantities import Duration, Hostlist, PortRate
from clusterwright.i18n import _, _n
from clusterwright.plan.inputs import Protocol

if TYPE_CHECKING:
    from cyclopts import Token

    from clusterwright.check.bench.bench_job import HostRequest
    from clusterwright.check.bench.compare import BenchChange
    from clusterwright.check.bench.run import Kind
    from clusterwright.check.bench.store import Stored
    from clusterwright.config.cluster import Cluster


USUAL_NODES = 2  # on a cluster that others share: enough for every benchmark
_EXIT = {"fail": 5, "unknown": 1}  # by the worst status


@Parameter(name="*")
@dataclass(frozen=True)
class NetworkOptions:
    """The network between the nodes, as typed; Slurm does not report it."""

    kind: Annotated[
        Protocol | None,
        Parameter(name="--network", help="Network between the nodes; default: the cluster file's."),
    ] = None
    nics: Annotated[
        int | None,
        Parameter(
            help="Network ports per node; default: the cluster file's.", validator=Number(gte=1, lte=1024)
        ),
    ] = None
    nic_rate: Annotated[
        PortRate | None, Parameter(help="Rate of a port, such as 400Gbit/s; default: the cluster file's.")
    ] = None

    def applied_to(self, cluster: Cluster) -> Cluster:
        """Return the cluster with the network of these options."""
        from clusterwright.cli.plan._inputs import read_rate
        from clusterwright.plan.learned_network import NetworkFacts, with_network

        return with_network(cluster, NetworkFacts(self.kind, self.nics, read_rate(self.nic_rate)))


NO_NETWORK = NetworkOptions()


# Options of `bench`, `tune` and `check`.
IdleHosts = Annotated[
    Hostlist, Parameter(help="Hosts to wait for, such as gpu-node[1-4]; default: all idle hosts."), HOSTS
]
IdleNodes = Annotated[
    int | None,
    Parameter(
        help="Number of idle hosts; default: all, or 2 on a cluster without a cluster file.",
        validator=Number(gte=1),
    ),
]
IdleWait = Annotated[Duration, Parameter(help="Longest wait for idle hosts.")]
SlurmAccount = Annotated[str, Parameter(help="Slurm account of the job; default: the user's.")]


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """The options of all benchmarks as typed."""

    hosts: IdleHosts = ""
    nodes: IdleNodes = None
    wait: IdleWait = "10m"
    partition: Annotated[
        str, Parameter(help="Partition of the hosts; default: Slurm's default partition."), PARTITIONS
    ] = ""
    reservation: Annotated[str, Parameter(help="Slurm reservation to run in.")] = ""
    account: SlurmAccount = ""
    network: NetworkOptions = NO_NETWORK
    as_user: Annotated[
        str, Parameter(name="--as", help="User of the job; default: the first admin of the cluster file.")
    ] = ""
    everything: Annotated[
        bool, Parameter(name="--all", negative="", help="Show verdicts that are ok, too.")
    ] = False
    json: Annotated[
        bool, Parameter(negative="", help="Print one JSON document: measurements and verdicts.")
    ] = False

    def run(self, kind: Kind, file: Path | None, *, lasts: str = "0s") -> int:
        """Run the benchmark of this kind by a Slurm job, store it and print it.

        Return 5 if a verdict fails, else 1 if one is unknown, else 0.
        """
        from clusterwright.check.bench.run import run
        from clusterwright.check.folding import counts
        from clusterwright.cli._connection import find_cluster
        from clusterwright.cli._progress import progress
        from clusterwright.cli._show import show_json, show_message
        from clusterwright.provision.apply import remote_of

        cluster = self.network.applied_to(find_cluster(file))
        remote, request = remote_of(cluster), self._host_request(cluster, lasts)
        with progress(f"bench {kind}", quiet=self.json):
            result = run(kind, cluster, remote, request, log=show_message)
        number = counts(result.verdicts)
        if self.json:
            show_json({"counts": number, **asdict(result)})
        else:
            _show(result, number, everything=self.everything)
        return next((code for status, code in _EXIT.items() if number[status]), 0)

    def _host_request(self, cluster: Cluster, lasts: str) -> HostRequest:
        from clusterwright.check.bench.bench_job import HostRequest
        from clusterwright.check.bench.script import JobResources
        from clusterwright.cli._hostlist import hosts_of
        from clusterwright.units import parse_duration

        return HostRequest(
            self.as_user or first_admin(cluster),
            hosts_of(cluster, self.hosts) or (),
            self.partition,
            self.reservation,
            parse_duration(self.wait),
            fewest=self.nodes or 1,
            most=most_nodes(cluster, self.hosts, self.nodes),
            lasts_s=parse_duration(lasts),
            allocation=JobResources(account=self.account),
        )


DEFAULTS = Common()


def most_nodes(cluster: Cluster, hosts: str, nodes: int | None) -> int | None:
    """Return how many hosts a bench uses at most, with --hosts and --nodes as typed; None for all."""
    return nodes or (USUAL_NODES if cluster.unmanaged and not hosts else None)


def first_admin(cluster: Cluster) -> str | None:
    """Return the user whose job a benchmark is by default; None if the cluster file has no admin."""
    return next((name for name, user in cluster.users.items() if user.admin), None)


def _show(result: Stored, number: dict[str, int], *, everything: bool) -> None:
    from clusterwright.cli._show import show_message, show_next, show_note, show_table

    for note in result.notes:
        show_note(note)
    rows = [verdict for verdict in result.verdicts if everything or verdict.status != "ok"]
    if rows:
        show_table(
            ("status", "subject", "part", "observed", "expected", "fix"),
            [(v.status, v.subject, v.part, v.observed, v.expected, v.fix) for v in rows],
        )
    show_message(", ".join(f"{count} {status}" for status, count in number.items()))
    count = len(result.measurements)
    show_message(
        _n(
            "bench {id}: {count} measurement stored",
            "bench {id}: {count} measurements stored",
            count,
            id=result.id,
        )
    )
    show_next("wright bench list")


def show_list(file: Path | None, *, json: bool) -> int:
    """Print a row for each stored benchmark of the cluster, or JSON; return 0."""
    from datetime import UTC, datetime

    from clusterwright.check.bench.store import file_of, runs
    from clusterwright.cli._connection import find_cluster
    from clusterwright.cli._show import show_json, show_table
    from clusterwright.config.names import fold

    bench_runs = runs(file_of(find_cluster(file).name))
    if json:
        show_json(bench_runs)
        return 0
    rows = [
        (
            str(run.id),
            run.bench,
            datetime.fromtimestamp(run.time, UTC).strftime("%Y-%m-%d %H:%M"),
            fold(run.hosts),
            str(run.measurements),
            ", ".join(f"{count} {status}" for status, count in run.statuses.items()),
        )
        for run in bench_runs
    ]
    show_table(("bench", "kind", "time (UTC)", "hosts", "measurements", "verdicts"), rows)
    return 0


def show_comparison(file: Path | None, a: int, b: int, *, json: bool) -> int:
    """Print what changed between the stored benchmarks `a` and `b` by more than the spread; return 0.

    Also versions that differ and what only one measured; with `json` all values.
    """
    from clusterwright.check.bench.compare import compare
    from clusterwright.check.bench.store import file_of, read
    from clusterwright.cli._connection import find_cluster
    from clusterwright.cli._show import show_json, show_message, show_table

    path = file_of(find_cluster(file).name)
    comparison = compare(read(path, a), read(path, b))
    if json:
        show_json(comparison)
        return 0
    changed = [change for change in comparison.changes if change.changed]
    show_table(("subject", "quantity", "before", "after", "change", "conditions"), map(_row, changed))
    show_table(("version of", "before", "after"), comparison.versions)
    show_message(
        _(
            "measurements that changed by more than their spread: {changed} of {total}",
            changed=len(changed),
            total=len(comparison.changes),
        )
    )
    for bench_id, subjects in ((a, comparison.only_before), (b, comparison.only_after)):
        if subjects:
            show_message(_("only in bench {id}: {subjects}", id=bench_id, subjects=", ".join(subjects)))
    return 0


def _row(change: BenchChange) -> tuple[str, ...]:
    from clusterwright.check.bench.amounts import amount

    conditions = ", ".join(f"{name} {value}" for name, value in change.conditions.items())
    figures = amount(change.before, change.unit), amount(change.after, change.unit)
    return (change.subject, change.quantity, *figures, f"{change.ratio - 1:+.1%}", conditions)


def parse_bench_number(_type: object, tokens: Sequence[Token]) -> int:
    """Return the number of a stored benchmark; Cyclopts calls it for each argument.

    Raises:
        WrightError: it is no number, but for example a file of results.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError

    text = tokens[0].value
    if text.isdecimal() and len(text) < 10:
        return int(text)
    raise WrightError.from_code(
        "bench-no-run",
        _("`{text}` is not the number of a stored benchmark", text=text),
        _("wright bench list shows the numbers; compare two of them: wright bench compare 1 2"),
        exit_code=EXIT_USAGE,
    )


bench = App(
    name="bench",
    help="Benchmark network, GPUs, storage and memory of the hosts; compare with the cluster file and with each other.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


File = Annotated[
    Path | None, Parameter(help="Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.")
]
Id = Annotated[
    int, Parameter(converter=parse_bench_number, help="Number of a benchmark, as in wright bench list.")
]
Json = Annotated[bool, Parameter(help="Print one JSON document on stdout.")]


@bench.command
def network(*, cluster: File = None, common: Common = DEFAULTS) -> int:
    """Measure the network between every pair of hosts, in both directions, one partner per host at a time."""
    return common.run("network", cluster)


@bench.command
def collectives(*, cluster: File = None, common: Common = DEFAULTS) -> int:
    """Measure all-reduce and other collectives on all hosts, verify the data, and bisect to the slow host or link."""
    return common.run("collectives", cluster)


@bench.command
def storage(*, cluster: File = None, common: Common = DEFAULTS) -> int:
    """Measure the shared folder and the local disks of every host: large files, random reads, many small files."""
    return common.run("storage", cluster)


@bench.command
def memory(*, cluster: File = None, common: Common = DEFAULTS) -> int:
    """Measure the memory bandwidth of every host with STREAM."""
    return common.run("memory", cluster)


@bench.command
def training(*, cluster: File = None, common: Common = DEFAULTS) -> int:
    """Train a small model on 1, 2, 4 ... all hosts over each transport, and compare the scaling with the planner."""
    return common.run("training", cluster)


@bench.command
def loader(*, cluster: File = None, common: Common = DEFAULTS) -> int:
    """Measure how fast a DataLoader reads the shared folder on every host, by number of workers."""
    return common.run("loader", cluster)


@bench.command
def gpu(*, cluster: File = None, common: Common = DEFAULTS) -> int:
    """Measure every GPU: matrix products, memory, copies; verify the results; record clocks, temperature and power."""
    return common.run("gpu", cluster)


@bench.command
def rdma(*, cluster: File = None, common: Common = DEFAULTS) -> int:
    """Measure every pair of hosts on every rail with perftest: bandwidth both ways, latency, GPUDirect."""
    return common.run("rdma", cluster)


@bench.command
def burn_in(
    *,
    cluster: File = None,
    lasts: Annotated[Duration, Parameter(name="--for", help="Duration: 20m, 2h, 1d.")] = "1h",
    common: Common = DEFAULTS,
) -> int:
    """Load cores, GPUs, memory, disks and links for hours; verify the results and check the hosts meanwhile.

    Ctrl-C ends it early: the measurements up to then are judged and stored.
    """
    return common.run("burn_in", cluster, lasts=lasts)


@bench.command(name="list")
def list_(*, cluster: File = None, json: Json = False) -> int:
    """List the stored benchmarks, newest first."""
    return show_list(cluster, json=json)


@bench.command
def compare(a: Id, b: Id, /, *, cluster: File = None, json: Json = False) -> int:
    """Compare benchmark A with benchmark B: changes larger than the spread, and versions that differ."""
    return show_comparison(cluster, a, b, json=json)
