"""`wright bench`: one command for each kind, and what is made of the results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.check.bench.bench_job import HostRequest
    from clusterwright.check.bench.compare import Change
    from clusterwright.check.bench.run import Kind
    from clusterwright.check.bench.store import Stored
    from clusterwright.config.cluster import Cluster


_EXIT = {"fail": 5, "unknown": 1}  # by the worst status found


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """The options as they were typed."""

    hosts: Annotated[
        str, Parameter(help="Only these, waited for: gpu-node[1-4]. Else all that are idle.")
    ] = ""
    wait: Annotated[str, Parameter(help="Longest time for hosts to come free.")] = "10m"
    partition: Annotated[str, Parameter(help="Whose hosts; the default partition if left out.")] = ""
    reservation: Annotated[str, Parameter(help="Reservation of Slurm's to run in.")] = ""
    as_user: Annotated[
        str, Parameter(name="--as", help="Whose job it is; the first admin of the file if left out.")
    ] = ""
    everything: Annotated[bool, Parameter(name="--all", negative="", help="Show what is ok, too.")] = False
    json: Annotated[bool, Parameter(negative="", help="One JSON document: measurements and verdicts.")] = (
        False
    )

    def run(self, kind: Kind, file: Path, *, lasts: str = "0s") -> int:
        """Run the bench and show it; 5 when something fails, 1 when something could not be seen."""
        from clusterwright.check.bench.run import run
        from clusterwright.check.folding import counts
        from clusterwright.cli._show import show_json, show_message
        from clusterwright.config.load import load_cluster
        from clusterwright.provision.apply import remote_of

        cluster = load_cluster(file)
        result = run(kind, cluster, remote_of(cluster), self._host_request(cluster, lasts), log=show_message)
        number = counts(result.verdicts)
        if self.json:
            show_json({"counts": number, **asdict(result)})
        else:
            _show(result, number, everything=self.everything)
        return next((code for status, code in _EXIT.items() if number[status]), 0)

    def _host_request(self, cluster: Cluster, lasts: str) -> HostRequest:
        from clusterwright.check.bench.bench_job import HostRequest
        from clusterwright.cli._hostlist import expanded
        from clusterwright.units import parse_duration

        return HostRequest(
            self.as_user or first_admin(cluster),
            expanded(self.hosts) or (),
            self.partition,
            self.reservation,
            parse_duration(self.wait),
            lasts_s=parse_duration(lasts),
        )


COMMONLY = Common()


def first_admin(cluster: Cluster) -> str | None:
    """Whose job a measurement is unless somebody is named; None where the file has no admin."""
    return next((name for name, user in cluster.users.items() if user.admin), None)


def _show(result: Stored, number: dict[str, int], *, everything: bool) -> None:
    from clusterwright.cli._show import show_message, show_table

    for note in result.notes:
        show_message(f"note: {note}")
    rows = [verdict for verdict in result.verdicts if everything or verdict.status != "ok"]
    if rows:
        columns = ("status", "subject", "part", "observed", "expected", "fix")
        show_table(columns, [(v.status, v.subject, v.part, v.observed, v.expected, v.fix) for v in rows])
    show_message(", ".join(f"{count} {status}" for status, count in number.items()))
    show_message(
        _(
            "bench {result}: {count} measurements kept; next: wright bench list FILE",
            result=result.id,
            count=len(result.measurements),
        )
    )


def show_list(file: Path, *, json: bool) -> int:
    """The benches of the cluster."""
    from datetime import UTC, datetime

    from clusterwright.check.bench.store import file_of, runs
    from clusterwright.cli._show import show_json, show_table
    from clusterwright.config.load import load_cluster
    from clusterwright.config.names import fold

    bench_runs = runs(file_of(load_cluster(file).name))
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


def show_comparison(file: Path, a: int, b: int, *, json: bool) -> int:
    """What changed between two of them."""
    from clusterwright.check.bench.compare import compare
    from clusterwright.check.bench.store import file_of, read
    from clusterwright.cli._show import show_json, show_message, show_table
    from clusterwright.config.load import load_cluster

    path = file_of(load_cluster(file).name)
    comparison = compare(read(path, a), read(path, b))
    if json:
        show_json(comparison)
        return 0
    changed = [change for change in comparison.changes if change.changed]
    show_table(("subject", "quantity", "before", "after", "change", "conditions"), map(_row, changed))
    show_table(("version of", "before", "after"), comparison.versions)
    show_message(
        _(
            "{count} of {count2} changed by more than their spread",
            count=len(changed),
            count2=len(comparison.changes),
        )
    )
    for label, subjects in (
        (f"only in {a}", comparison.only_before),
        (f"only in {b}", comparison.only_after),
    ):
        show_message(f"{label}: {', '.join(subjects)}") if subjects else None
    return 0


def _row(change: Change) -> tuple[str, ...]:
    from clusterwright.check.bench.amounts import amount

    conditions = ", ".join(f"{name} {value}" for name, value in change.conditions.items())
    figures = amount(change.before, change.unit), amount(change.after, change.unit)
    return (change.subject, change.quantity, *figures, f"{change.ratio - 1:+.1%}", conditions)


bench = App(
    name="bench",
    help="Measure what the hosts can do: judged by the cluster file and by each other, bisected, remembered.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@bench.command
def network(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure every pair of hosts, both ways, each host with one other at a time."""
    return common.run("network", file)


@bench.command
def collectives(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Sweep all-reduce and its kin over all hosts, verify the data, and bisect to the host or link that is slow."""
    return common.run("collectives", file)


@bench.command
def storage(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure the shared folder and every host's local disks: large files, random reads, many small files."""
    return common.run("storage", file)


@bench.command
def memory(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure every host's memory, as STREAM does."""
    return common.run("memory", file)


@bench.command
def training(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Train a small model on 1, 2, 4 ... all hosts over each transport, and hold the scaling against the planner."""
    return common.run("training", file)


@bench.command
def loader(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure how fast a DataLoader reads the shared folder on every host, by number of workers."""
    return common.run("loader", file)


@bench.command
def gpu(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure every GPU: matrix products, memory, copies; every result verified, with clocks, heat and power."""
    return common.run("gpu", file)


@bench.command
def rdma(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure every pair of hosts on every rail by perftest: bandwidth both ways, latency, GPUDirect where it can."""
    return common.run("rdma", file)


@bench.command
def burn_in(
    file: Path,
    /,
    *,
    lasts: Annotated[str, Parameter(name="--for", help="How long: 20m, 2h, 1d.")] = "1h",
    common: Common = COMMONLY,
) -> int:
    """Load cores, GPUs, memory, disks and links for hours; every result is verified, and the hosts checked meanwhile.

    Ctrl-C ends it early: what was measured until then is judged and kept.
    """
    return common.run("burn_in", file, lasts=lasts)


@bench.command(name="list")
def list_(file: Path, /, *, json: bool = False) -> int:
    """Show the benches that were run, the newest first."""
    return show_list(file, json=json)


@bench.command
def compare(file: Path, a: int, b: int, /, *, json: bool = False) -> int:
    """Show what changed from bench A to bench B by more than its spread, and which versions differ."""
    return show_comparison(file, a, b, json=json)
