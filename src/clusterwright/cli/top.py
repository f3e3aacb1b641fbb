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
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from clusterwright.cli._connection import connection_to, find_cluster
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.monitor.top.columns import RenderOptions


def top(
    cluster: Path | None = None,
    /,
    *,
    batch: bool = False,
    json: bool = False,
    lang: Literal["en", "zh"] | None = None,
    no_color: bool = False,
    as_: Annotated[str | None, Parameter(name="--as")] = None,
) -> int:
    """Show the whole cluster in one screen: nodes, GPUs, jobs, teams, alerts; `?` there lists the keys.

    Parameters
    ----------
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    batch
        Print it once and leave; so it is where there is no terminal.
    json
        All of it as one JSON document.
    lang
        The language of the screen; else that of $LC_ALL, $LC_MESSAGES or $LANG.
    no_color
        Without colours, as with $NO_COLOR.
    as_
        Who you are on the cluster, for cancelling jobs and reading what they print; else your name here.
    """
    options = TopOptions(cluster, lang, as_, colour=not no_color)
    if json:
        return as_json(options)
    return print_once(options) if batch or not terminal() else screen(options)


SCHEMA = 1
WIDTH, ROWS = 160, 60  # where there is no terminal


@dataclass(frozen=True, slots=True)
class TopOptions:
    """What was said on the command line."""

    cluster: Path | None
    lang: Literal["en", "zh"] | None
    user: str | None
    colour: bool

    def render_options(self) -> RenderOptions:
        """How things are to be said."""
        from clusterwright.cli.why import language
        from clusterwright.monitor.top.columns import RenderOptions

        ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        return RenderOptions(self.lang or ("zh" if language() == "zh" else "en"), ascii_only=ascii_only)


def terminal() -> bool:
    """Whether there is a screen and somebody at it."""
    return sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def as_json(options: TopOptions) -> int:
    """The picture as one document; names of strangers are escaped as JSON has it."""
    from clusterwright.monitor.gather import gather

    cluster_config = find_cluster(options.cluster)
    json.dump({"schema": SCHEMA, **asdict(gather(cluster_config, connection_to(cluster_config)))}, sys.stdout)
    sys.stdout.write("\n")
    return 0


def print_once(options: TopOptions) -> int:
    """One screen."""
    from dataclasses import replace

    from rich.console import Console

    from clusterwright.monitor.gather import gather
    from clusterwright.monitor.top.static_screen import print_screen as print_snapshot

    cluster_config = find_cluster(options.cluster)
    snapshot = gather(cluster_config, connection_to(cluster_config))
    size = shutil.get_terminal_size((WIDTH, ROWS))
    console = Console(width=size.columns, no_color=True if not options.colour else None)
    print_snapshot(snapshot, replace(options.render_options(), now=snapshot.taken), console, rows=size.lines)
    return 0


def screen(options: TopOptions) -> int:
    """The screen, until somebody leaves it. The cluster is asked while Textual is loaded."""
    if find_spec("textual") is None:
        from clusterwright.errors import EXIT_USAGE, WrightError

        raise WrightError.from_code(
            "top-needs-textual",
            _("the screen is drawn with textual, which is not installed"),
            _('pip install "clusterwright[tui]", or look once: wright top --batch'),
            exit_code=EXIT_USAGE,
        )
    if not options.colour:
        os.environ["NO_COLOR"] = "1"
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
        lambda job: _why(cluster_config, remote, job, render_options.lang),
    )
    Top(snapshot_cache, actions, render_options, cluster_config.control.name).run()
    return 0


def _why(cluster: Cluster, remote: Remote, job: str, lang: str) -> str:
    """What `wright why JOB` says."""
    from clusterwright.cli.why import of_job, waits
    from clusterwright.diagnose.pending.report import format_waiting
    from clusterwright.diagnose.report import format_report, uncolored

    if waiting := waits(cluster, remote, job):
        return format_waiting(waiting, job, lang)
    return format_report(of_job(cluster, remote, job, lang), lang, everything=False, paint=uncolored)
