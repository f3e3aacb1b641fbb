"""`wright check`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from clusterwright.cli._live_names import CHECKS, HOSTS
from clusterwright.cli._progress import progress
from clusterwright.cli._show import show_json, show_message, show_note, show_table, write_file
from clusterwright.i18n import _, _n

if TYPE_CHECKING:
    from clusterwright.check import Verdict
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Connection

_EXIT = {"fail": 5, "unknown": 1}  # by the worst status


def check(
    *,
    cluster: Path | None = None,
    hosts: Annotated[str, HOSTS] = "",
    only: Annotated[tuple[str, ...], CHECKS] = (),
    on: Literal["deploy", "periodic", "prolog", "burn-in", "boot"] = "deploy",
    everything: Annotated[bool, Parameter(name="--all", negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    html: Path | None = None,
    metrics: Path | None = None,
) -> int:
    """Check every host that is not powered down against the cluster file.

    Exit code: 5 if a check fails; 1 if none fails but one is unknown; 0 if all others are ok, skipped or warnings.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    hosts
        Only these hosts, as a hostlist: gpu-node[1-4].
    only
        Only this check, in any set; repeatable.
    on
        Set of checks: deploy (all), periodic (for a running cluster), prolog (fast enough before a job), burn-in (after
        load), boot (after a reboot).
    everything
        Show checks that are ok or do not apply, too.
    json
        Print one JSON document: the counts and every verdict.
    html
        Write an acceptance report to this HTML file, and the same data to a .json file beside it.
    metrics
        Write the results to this file as Prometheus metrics, for the textfile collector of node_exporter (.prom).
    """
    from clusterwright.check import run
    from clusterwright.cli._connection import managed_cluster
    from clusterwright.cli._hostlist import hosts_of
    from clusterwright.provision.apply import remote_of

    config = managed_cluster(cluster)
    remote = remote_of(config)
    with progress("check", quiet=json) as display:
        chosen = hosts_of(config, hosts) or _powered_up_hosts(config, remote)
        verdicts = run(config, remote, hosts=chosen, only=only, on=on, on_event=display.on_event)
    _written(html, metrics, config, verdicts)
    return _show_verdicts(verdicts, json=json, everything=everything)


def _powered_up_hosts(cluster: Cluster, remote: Connection) -> tuple[str, ...] | None:
    """Return all hosts except those that power saving has powered down; None for all hosts."""
    from clusterwright.config.names import fold
    from clusterwright.provision.powered_down import find_powered_down

    off = find_powered_down(cluster, remote)
    if not off:
        return None
    show_note(_("{hosts}: powered down by power saving, not checked", hosts=fold(sorted(off))))
    return tuple(host.name for host in cluster.hosts() if host.name not in off)


def _show_verdicts(verdicts: list[Verdict], *, json: bool, everything: bool) -> int:
    """Print the verdicts; return the exit code."""
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

    hidden = () if everything else ("ok", "skipped")
    visible_verdicts = [verdict for verdict in folded(verdicts) if verdict.status not in hidden]
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
    checks = _n("{count} check", "{count} checks", len({verdict.check for verdict in verdicts}))
    show_message(_("{checks}; --all shows those that are ok or do not apply", checks=checks))
    show_message(", ".join(f"{count} {status}" for status, count in number.items()))


def _location(verdict: Verdict) -> str:
    return f"{verdict.subject}: {verdict.part}" if verdict.part else verdict.subject


def _write_report(to: Path, cluster: Cluster, verdicts: Sequence[Verdict]) -> tuple[Path, Path]:
    """Write the report as HTML and JSON, each atomically; return both paths.

    Raises:
        WrightError: the folder does not exist or is not writable.
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
    """Write the metrics file atomically; return its path.

    Raises:
        WrightError: the folder does not exist or is not writable.
    """
    from clusterwright.check.bench.store import file_of, latest
    from clusterwright.check.report import metrics

    write_file(to, metrics(cluster.name, verdicts, latest(file_of(cluster.name)), checked_at=time.time()))
    return to


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M %Z")
