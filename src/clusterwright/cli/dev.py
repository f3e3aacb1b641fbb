"""`wright dev [FILE]`, `wright dev list|stop`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from clusterwright.cli._dev import COMMONLY, Common

dev = App(
    name="dev",
    help="Work on a compute host: JupyterLab, VS Code or a shell, as a job with GPUs of its own.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
As = Annotated[str | None, Parameter(name="--as")]


@dev.default
def begin(file: Path | None = None, /, *, common: Common = COMMONLY) -> int:
    """Submit the job, wait for it, and print what to copy; where one is up, join it.

    Ctrl-C while it waits takes it out of the queue.

    Parameters
    ----------
    file
        A job file, whose Python, modules, variables, partition, team and user are taken; none is needed.
    """
    return common.run(file)


@dev.command(name="list")
def list_(*, cluster: Path | None = None, as_user: As = None, json: bool = False) -> int:
    """Show the sessions that are queued or up: yours, or everybody's if you log in as root.

    Parameters
    ----------
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    as_user
        Whose, when root asks.
    json
        One JSON document.
    """
    from clusterwright.cli._dev_listed import show_list

    return show_list(cluster, as_user, json=json)


@dev.command
def stop(job: str, /, *, cluster: Path | None = None, as_user: As = None) -> int:
    """End a session; its GPUs are free at once.

    Parameters
    ----------
    job
        Its job id, or `all` of yours.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    as_user
        Whose, when root asks.
    """
    from clusterwright.cli._dev_listed import end

    return end(job, cluster, as_user)
