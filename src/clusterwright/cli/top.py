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

from clusterwright.cli._there import find_cluster, way_to

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.monitor.top.columns import Way


def top(
    cluster: Path | None = None,
    /,
    *,
    once: bool = False,
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
    once
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
    asked = Asked(cluster, lang, as_, colour=not no_color)
    if json:
        return as_json(asked)
    return print_once(asked) if once or not terminal() else screen(asked)


SCHEMA = 1
WIDTH, ROWS = 160, 60  # where there is no terminal


@dataclass(frozen=True, slots=True)
class Asked:
    """What was said on the command line."""

    cluster: Path | None
    lang: Literal["en", "zh"] | None
    user: str | None
    colour: bool

    def way(self) -> Way:
        """How things are to be said."""
        from clusterwright.cli.why import language
        from clusterwright.monitor.top.columns import Way

        plain = "utf" not in (sys.stdout.encoding or "").lower()
        return Way(self.lang or ("zh" if language() == "zh" else "en"), ascii_only=plain)


def terminal() -> bool:
    """Whether there is a screen and somebody at it."""
    return sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def as_json(asked: Asked) -> int:
    """The picture as one document; names of strangers are escaped as JSON has it."""
    from clusterwright.monitor.gather import gather

    where = find_cluster(asked.cluster)
    json.dump({"schema": SCHEMA, **asdict(gather(where, way_to(where)))}, sys.stdout)
    sys.stdout.write("\n")
    return 0


def print_once(asked: Asked) -> int:
    """One screen."""
    from dataclasses import replace

    from rich.console import Console

    from clusterwright.monitor.gather import gather
    from clusterwright.monitor.top.once import once as shown

    where = find_cluster(asked.cluster)
    picture = gather(where, way_to(where))
    size = shutil.get_terminal_size((WIDTH, ROWS))
    console = Console(width=size.columns, no_color=True if not asked.colour else None)
    shown(picture, replace(asked.way(), now=picture.taken), console, rows=size.lines)
    return 0


def screen(asked: Asked) -> int:
    """The screen, until somebody leaves it. The cluster is asked while Textual is loaded."""
    if find_spec("textual") is None:
        from clusterwright.errors import EXIT_USAGE, WrightError

        raise WrightError.of(
            "top-needs-textual",
            "the screen is drawn with textual, which is not installed",
            'pip install "clusterwright[tui]", or look once: wright top --once',
            exit_code=EXIT_USAGE,
        )
    if not asked.colour:
        os.environ["NO_COLOR"] = "1"
    from clusterwright.edge.clock import SystemClock
    from clusterwright.monitor.gather import Kept, gather

    where = find_cluster(asked.cluster)
    remote = way_to(where)
    kept = Kept(lambda: gather(where, remote), SystemClock())
    threading.Thread(target=kept.newest, daemon=True).start()

    from clusterwright.monitor.top.acts import ByShell
    from clusterwright.monitor.top.app import Top

    way = asked.way()
    runs = f"{where.shared_folder}/runs" if where.shared_folder else ""
    user = asked.user or getpass.getuser()
    acts = ByShell(remote, where.control.name, runs, user, lambda job: _why(where, remote, job, way.lang))
    Top(kept, acts, way, where.control.name).run()
    return 0


def _why(cluster: Cluster, remote: Remote, job: str, lang: str) -> str:
    """What `wright why JOB` says."""
    from clusterwright.cli.why import of_job, waits
    from clusterwright.diagnose.pending.told import shown as waiting_shown
    from clusterwright.diagnose.shown import plain, shown

    if waiting := waits(cluster, remote, job):
        return waiting_shown(waiting, job, lang)
    return shown(of_job(cluster, remote, job, lang), lang, everything=False, paint=plain)
