"""`wright top`."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import sys
import threading
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._connection import connection_to, find_cluster
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.monitor.top.columns import RenderOptions


def top(
    *,
    cluster: Path | None = None,
    batch: bool = False,
    json: bool = False,
    as_: Annotated[str | None, Parameter(name="--as")] = None,
) -> int:
    """Show the live state of the cluster: nodes, GPUs, jobs, teams and alerts; press ? for the keys.

    Parameters
    ----------
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    batch
        Print the screen once and exit; the default without a terminal.
    json
        Print one JSON document on stdout.
    as_
        Your user name on the cluster, to cancel jobs and read their output; default: your name on this machine.
    """
    options = TopOptions(cluster, as_)
    if json:
        return as_json(options)
    return print_once(options) if batch or not terminal() else screen(options)


SCHEMA = 1
WIDTH, ROWS = 160, 60  # without a terminal


@dataclass(frozen=True, slots=True)
class TopOptions:
    """The options as typed."""

    cluster: Path | None
    user: str | None

    def render_options(self) -> RenderOptions:
        """Return how the screen is drawn: with ASCII only, unless stdout is UTF-8."""
        from clusterwright.monitor.top.columns import RenderOptions

        ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        return RenderOptions(ascii_only=ascii_only)


def terminal() -> bool:
    """Return True if stdin and stdout are an interactive terminal."""
    return sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def as_json(options: TopOptions) -> int:
    """Take a snapshot of the cluster and print it as one JSON document; return 0."""
    from clusterwright.monitor.gather import gather

    cluster_config = find_cluster(options.cluster)
    json.dump({"schema": SCHEMA, **asdict(gather(cluster_config, connection_to(cluster_config)))}, sys.stdout)
    sys.stdout.write("\n")
    return 0


def print_once(options: TopOptions) -> int:
    """Take a snapshot of the cluster and print the screen of `wright top` once; return 0."""
    from dataclasses import replace

    from rich.console import Console

    from clusterwright.monitor.gather import gather
    from clusterwright.monitor.top.static_screen import print_screen as print_snapshot

    cluster_config = find_cluster(options.cluster)
    snapshot = gather(cluster_config, connection_to(cluster_config))
    size = shutil.get_terminal_size((WIDTH, ROWS))
    console = Console(
        width=size.columns,
    )
    print_snapshot(snapshot, replace(options.render_options(), now=snapshot.taken), console, rows=size.lines)
    return 0


def screen(options: TopOptions) -> int:
    """Run the screen of `wright top` until the user quits; return 0.

    The first snapshot is gathered while Textual is imported.
    """
    if find_spec("textual") is None:
        from clusterwright.errors import EXIT_USAGE, WrightError

        raise WrightError.from_code(
            "top-needs-textual",
            _("wright top requires textual, which is not installed"),
            _('run pip install "clusterwright[tui]", or print the screen once with wright top --batch'),
            exit_code=EXIT_USAGE,
        )
    from clusterwright.edge.clock import SystemClock
    from clusterwright.monitor.gather import SnapshotCache, gather

    cluster_config = find_cluster(options.cluster)
    remote = connection_to(cluster_config)
    snapshot_cache = SnapshotCache(lambda: gather(cluster_config, remote), SystemClock())
    threading.Thread(target=snapshot_cache.newest, daemon=True).start()

    from clusterwright.monitor.top.app import Top
    from clusterwright.monitor.top.job_actions import ByShell

    render_options = options.render_options()
    runs = f"{cluster_config.shared_folder}/runs" if cluster_config.shared_folder else ""
    user = options.user or getpass.getuser()
    actions = ByShell(
        remote,
        cluster_config.control.name,
        runs,
        user,
        lambda job: _why(cluster_config, remote, job),
    )
    Top(snapshot_cache, actions, render_options, cluster_config.control.name).run()
    return 0


def _why(cluster: Cluster, remote: Remote, job: str) -> str:
    """Return the output of `wright why JOB`: why it is pending, else how it ended."""
    from clusterwright.diagnose.pending.report import format_waiting
    from clusterwright.diagnose.report import format_report, uncolored
    from clusterwright.diagnose.subjects import ended_job, pending_reasons

    if waiting := pending_reasons(job, cluster, remote):
        return format_waiting(waiting, job)
    return format_report(ended_job(job, cluster, remote), everything=False, paint=uncolored)
