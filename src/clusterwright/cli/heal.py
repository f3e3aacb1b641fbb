"""`wright heal [CLUSTER.YAML]`, `wright heal watch|approve|undo|log`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

heal = App(
    name="heal",
    help="Mend the cluster as far as the cluster file allows: drain, restart, reset, reboot, replace, give back.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
Here = Annotated[bool, Parameter(show=False)]  # on the control host itself, as its unit says


@heal.default
def once(file: Path | None = None, /, *, plan: bool = False, json: bool = False, here: Here = False) -> int:
    """Look at the cluster, and do what its section `heal` allows; what it does not allow is proposed.

    Parameters
    ----------
    file
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    plan
        Only show what would be done, and why.
    json
        One JSON document.
    """
    from clusterwright.cli import _heal

    return _heal.plan(file, here=here, json=json) if plan else _heal.once(file, here=here, json=json)


@heal.command
def watch(file: Path | None = None, /, *, here: Here = False) -> int:
    """Do so again and again, until it is ended; one loop at a time. A kill at any moment neither repeats nor forgets.

    Parameters
    ----------
    file
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.cli import _heal

    return _heal.watch(file, here=here)


@heal.command
def approve(id_: int, /, *, cluster: Path | None = None, here: Here = False) -> int:
    """Let a proposed action be done, if it is still wanted at the next look.

    Parameters
    ----------
    id_
        Its number in `wright heal log`.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.cli import _heal

    return _heal.approve(id_, cluster, here=here)


@heal.command
def undo(id_: int, /, *, cluster: Path | None = None, here: Here = False) -> int:
    """Take an action back, where that can be done: a drain, a return, a spare, an excluded host.

    Parameters
    ----------
    id_
        Its number in `wright heal log`.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.cli import _heal

    return _heal.undo(id_, cluster, here=here)


@heal.command
def log(*, cluster: Path | None = None, last: int = 50, json: bool = False, here: Here = False) -> int:
    """Show what was done, proposed and told, each with its evidence and what takes it back.

    Parameters
    ----------
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    last
        So many of the newest.
    json
        One JSON document.
    """
    from clusterwright.cli import _heal

    return _heal.log(cluster, last=last, here=here, json=json)
