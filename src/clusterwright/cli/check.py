"""`wright check`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from clusterwright.cli._live_names import CHECKS, HOSTS, PARTITIONS
from clusterwright.cli._progress import progress
from clusterwright.cli._quantities import Duration, Hostlist
from clusterwright.cli._show import show_json, show_message, show_note, show_table, write_file
from clusterwright.cli.bench import SlurmAccount
from clusterwright.i18n import _, _n

if TYPE_CHECKING:
    from clusterwright.check import Verdict
    from clusterwright.check.bench.bench_job import HostRequest
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.progress import Listener
    from clusterwright.edge.ssh import Connection

Occasion = Literal["deploy", "periodic", "prolog", "burn-in", "boot"]
_EXIT = {"fail": 5, "unknown": 1}  # by the worst status


@Parameter(name="*")
@dataclass(frozen=True)
class Selection:
    """The checks to run, as typed."""

    only: Annotated[tuple[str, ...], CHECKS, Parameter(help="Only this check, in any set; repeatable.")] = ()
    on: Annotated[
        Occasion,
        Parameter(
            help="Set of checks: deploy (all), periodic (for a running cluster), prolog (fast enough before a job), "
            "burn-in (after load), boot (after a reboot)."
        ),
    ] = "deploy"


ALL_CHECKS = Selection()


@Parameter(name="*")
@dataclass(frozen=True)
class JobOptions:
    """The options of a check inside a job, as typed; one of them requests a job on a cluster of a file, too."""

    nodes: Annotated[
        int | None, Parameter(validator=Number(gte=1), help="Check this number of free nodes, in a job.")
    ] = None
    partition: Annotated[str, Parameter(help="Partition of the job; default: Slurm's."), PARTITIONS] = ""
    gpus: Annotated[
        int, Parameter(validator=Number(gte=0), help="GPUs that the job requests on each node.")
    ] = 0
    exclusive: Annotated[
        bool, Parameter(negative="", help="The job requests whole nodes, with all their GPUs.")
    ] = False
    account: SlurmAccount = ""
    wait: Annotated[
        Duration, Parameter(help="Longest wait for free nodes, then for the start of the job.")
    ] = "10m"

    @property
    def requests_job(self) -> bool:
        """Return True if an option other than --wait was given that only a job has."""
        return self != JobOptions(wait=self.wait)

    def host_request(self, cluster: Cluster, hosts: Sequence[str]) -> HostRequest:
        """Return the request for hosts of the job in which the checks run."""
        from clusterwright.check.bench.bench_job import HostRequest
        from clusterwright.check.bench.script import JobResources
        from clusterwright.check.in_job import JOB_NAME, LIMIT_S
        from clusterwright.cli.bench import first_admin
        from clusterwright.units import parse_duration

        allocation = JobResources(JOB_NAME, self.exclusive, self.gpus, self.account)
        wait_s = parse_duration(self.wait)
        return HostRequest(
            first_admin(cluster),
            tuple(hosts),
            self.partition,
            wait_s=wait_s,
            fewest=self.nodes or 1,
            most=self.nodes,
            allocation=allocation,
            limit_s=LIMIT_S,
        )


NO_JOB_OPTIONS = JobOptions()


def check(
    *,
    cluster: Path | None = None,
    hosts: Annotated[Hostlist, HOSTS] = "",
    checks: Selection = ALL_CHECKS,
    everything: Annotated[bool, Parameter(name="--all", negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    html: Path | None = None,
    metrics: Path | None = None,
    job: JobOptions = NO_JOB_OPTIONS,
) -> int:
    """Check every host that is not powered down against the cluster file.

    On a Slurm cluster without a cluster file a job of yours reads what needs no root on each node that is free.

    Exit code: 5 if a check fails; 1 if none fails but one is unknown; 0 if all others are ok, skipped or warnings.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    hosts
        Only these hosts, as a hostlist: gpu-node[1-4].
    everything
        Show checks that are ok or do not apply, too.
    json
        Print one JSON document: the counts and every verdict.
    html
        Write an acceptance report to this HTML file, and the same data to a .json file beside it.
    metrics
        Write the results to this file as Prometheus metrics, for the textfile collector of node_exporter (.prom).
    """
    from clusterwright.cli._connection import find_cluster

    config = find_cluster(cluster)
    in_job = config.unmanaged or job.requests_job
    with progress("check", quiet=json) as display:
        verdicts = (
            _run_in_job(config, hosts, checks, job)
            if in_job
            else _run(config, hosts, checks, display.on_event)
        )
    _written(html, metrics, config, verdicts)
    return _show_verdicts(verdicts, json=json, everything=everything)


def _run(config: Cluster, hosts: str, checks: Selection, on_event: Listener) -> list[Verdict]:
    """Run the checks on hosts over SSH, as root, and return the verdicts.

    Without `hosts` all that are powered up and permanent. `on_event` gets the progress.

    Raises:
        WrightError: the cluster is a lab that is not up.
    """
    from clusterwright.check import run
    from clusterwright.cli._hostlist import hosts_of
    from clusterwright.cli._started_lab import require_lab
    from clusterwright.provision.apply import remote_of

    remote = remote_of(config)
    chosen = hosts_of(config, hosts) or _powered_up_hosts(config, remote)
    verdicts = run(config, remote, hosts=chosen, only=checks.only, on=checks.on, on_event=on_event)
    if any(verdict.check == "ssh" and verdict.status == "fail" for verdict in verdicts):
        require_lab(config)
    return verdicts


def _run_in_job(cluster: Cluster, hosts: str, checks: Selection, job: JobOptions) -> list[Verdict]:
    """Check hosts in a job of the user and return the verdicts; print the skipped hosts and what it cannot see."""
    from clusterwright.check.in_job import run_in_job
    from clusterwright.cli._hostlist import hosts_of
    from clusterwright.config.names import fold
    from clusterwright.provision.apply import remote_of

    request = job.host_request(cluster, hosts_of(cluster, hosts) or ())
    result = run_in_job(
        cluster, remote_of(cluster), request, only=checks.only, on=checks.on, log=show_message
    )
    for reason in dict.fromkeys(result.skip_reasons.values()):
        names = [host for host, skip_reason in result.skip_reasons.items() if skip_reason == reason]
        show_note(f"{fold(names)}: {reason}")
    if not job.exclusive and not job.gpus and any(group.gpus for group in cluster.nodes.values()):
        show_note(_("the job has no GPU, so GPUs were not checked: pass --gpus NUMBER, or --exclusive"))
    return list(result.verdicts)


def _powered_up_hosts(cluster: Cluster, remote: Connection) -> tuple[str, ...] | None:
    """Return all hosts except those that are powered down or come and go; None for all hosts."""
    from clusterwright.config.names import fold
    from clusterwright.provision.powered_down import find_powered_down

    off, transient = find_powered_down(cluster, remote), cluster.transient_hosts()
    if off:
        show_note(_("{hosts}: powered down by power saving, not checked", hosts=fold(sorted(off))))
    if transient:
        show_note(
            _("{hosts}: not checked, because these nodes need not exist", hosts=fold(sorted(transient)))
        )
    without = off | transient
    return tuple(host.name for host in cluster.hosts() if host.name not in without) if without else None


def _show_verdicts(verdicts: list[Verdict], *, json: bool, everything: bool) -> int:
    """Print the verdicts; return the exit code: 5 if one fails, 1 if one is unknown, else 0."""
    from clusterwright.check.folding import counts

    number = counts(verdicts)
    if json:
        show_json({"counts": number, "verdicts": verdicts})
    else:
        _show_rows(verdicts, number, everything=everything)
    return next((code for status, code in _EXIT.items() if number[status]), 0)


def _written(report: Path | None, metrics: Path | None, cluster: Cluster, verdicts: list[Verdict]) -> None:
    files = [*_write_report(report, cluster, verdicts)] if report else []
    files += [_write_metrics(metrics, cluster, verdicts)] if metrics else []
    if files:
        show_message(_("written: {files}", files=", ".join(map(str, files))))


def _show_rows(verdicts: list[Verdict], number: dict[str, int], *, everything: bool) -> None:
    from clusterwright.check.folding import folded
    from clusterwright.config.names import fold

    hidden = () if everything else ("ok", "skipped")
    unreachable = {
        verdict.subject for verdict in verdicts if verdict.check == "ssh" and verdict.status == "fail"
    }
    reported = [
        verdict
        for verdict in verdicts
        if everything or verdict.status != "unknown" or verdict.subject not in unreachable
    ]
    visible_verdicts = [verdict for verdict in folded(reported) if verdict.status not in hidden]
    if visible_verdicts:
        rows = [
            (
                verdict.status,
                verdict.check,
                _location(verdict),
                verdict.observed,
                verdict.expected,
                verdict.fix,
            )
            for verdict in visible_verdicts
        ]
        show_table(("status", "check", "hosts", "observed", "expected", "fix"), rows)
    if len(reported) < len(verdicts):
        hosts = fold(sorted(unreachable))
        show_message(_("{hosts}: all other checks are unknown without SSH; --all shows them", hosts=hosts))
    checks = _n("{count} check", "{count} checks", len({verdict.check for verdict in verdicts}))
    show_message(_("{checks}; --all shows those that are ok or do not apply", checks=checks))
    show_message(", ".join(f"{count} {status}" for status, count in number.items()))


def _location(verdict: Verdict) -> str:
    return f"{verdict.subject}: {verdict.part}" if verdict.part else verdict.subject


def _write_report(to: Path, cluster: Cluster, verdicts: Sequence[Verdict]) -> tuple[Path, Path]:
    """Write the acceptance report to the file `to` as HTML, and beside it as JSON, each atomically; return both paths.

    Missing folders are created.

    Raises:
        WrightError: a file cannot be written.
        OSError: the disk is full.
    """
    from clusterwright import __version__
    from clusterwright.check.bench.store import file_of, latest
    from clusterwright.check.report import findings, render_page

    benches = latest(file_of(cluster.name))
    bench_verdicts = [verdict for run in benches for verdict in run.verdicts]
    report_findings = findings(
        cluster,
        [*verdicts, *bench_verdicts],
        checked_at=_date(time.time()),
        version=__version__,
        benches=[
            _("bench {kind}, run {id} of {time}", kind=run.bench, id=run.id, time=_date(run.time))
            for run in benches
        ],
    )
    text = render_page(report_findings, tuple(cluster.networks.named()))
    data = dumps(asdict(report_findings), indent=2, default=str)
    json_path = to.with_suffix(".json")
    write_file(to, text)
    write_file(json_path, data + "\n")
    return to, json_path


def _write_metrics(to: Path, cluster: Cluster, verdicts: Sequence[Verdict]) -> Path:
    """Write the verdicts and the newest stored benchmarks as Prometheus metrics to the file `to`; return `to`.

    Atomically; missing folders are created.

    Raises:
        WrightError: the file cannot be written.
        OSError: the disk is full.
    """
    from clusterwright.check.bench.store import file_of, latest
    from clusterwright.check.report import metrics

    write_file(to, metrics(cluster.name, verdicts, latest(file_of(cluster.name)), checked_at=time.time()))
    return to


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M %Z")
