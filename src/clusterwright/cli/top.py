"""`wright top`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


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
    from clusterwright.cli import _top

    asked = _top.Asked(cluster, lang, as_, colour=not no_color)
    if json:
        return _top.as_json(asked)
    return _top.once(asked) if once or not _top.terminal() else _top.screen(asked)
