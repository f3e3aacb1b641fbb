"""`wright checkpoints list|verify|convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

checkpoints = App(
    name="checkpoints",
    help="What a run has saved: list it, verify every byte of it, convert it.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@checkpoints.command(name="list")
def list_(run: str = "last", /, *, cluster: Path | None = None, host: str = "", json: bool = False) -> int:
    """Show the checkpoints of a run: what they hold, which are verified, which go next, and half-done saves.

    Parameters
    ----------
    run
        A run's name, a job id or `last` on the cluster; or the folder of a run or of checkpoints, here or there.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    host
        The host that looks; the control host if left out.
    json
        One JSON document.
    """
    from clusterwright.cli import _checkpoints
    from clusterwright.launch.checkpoints import listing

    return _checkpoints.show_list(listing(run, _checkpoints.seen(run, cluster, host)), json=json)


@checkpoints.command
def verify(
    run: str,
    /,
    *,
    step: int | None = None,
    all_: Annotated[bool, Parameter(name="--all")] = False,
    cluster: Path | None = None,
    host: str = "",
    json: bool = False,
) -> int:
    """Read every byte of the newest checkpoint; names the file and the tensor that is damaged. Exit code 5 if any is.

    Parameters
    ----------
    run
        As for list; or the folder of one checkpoint.
    step
        The checkpoint of this step.
    all_
        All of them.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    host
        The host that reads, with the cluster's Python; the control host if left out.
    json
        One JSON document.
    """
    from clusterwright.cli import _checkpoints
    from clusterwright.launch.checkpoints import verify as read

    found = read(run, _checkpoints.seen(run, cluster, host), step=step, everything=all_)
    return _checkpoints.show_verified(found, json=json)


@checkpoints.command
def convert(
    source: str,
    target: str,
    /,
    *,
    to: Literal["torch", "dcp", "safetensors"] | None = None,
    from_: Annotated[Literal["torch", "dcp"] | None, Parameter(name="--from")] = None,
    name: str = "model",
    cluster: Path | None = None,
    host: str = "",
    json: bool = False,
) -> int:
    """Write a checkpoint in another form, or another one in ours: bit for bit, whole or not at all.

    Parameters
    ----------
    source
        A checkpoint's folder, or a run, whose newest is taken; with --from, the file or folder to read.
    target
        A path that is not there yet; with --from, a folder named after its step: checkpoints/step-00000100.
    to
        torch: one file; dcp: a folder; safetensors: a folder with the model alone, under its own names.
    from_
        torch: a file of torch.save; dcp: a folder, which may hold code that reading it runs.
    name
        What the model was tracked as.
    cluster
        The cluster file, for a run that is there; then target is a path there.
    host
        The host that converts, with the cluster's Python; the control host if left out.
    json
        One JSON document.
    """
    from clusterwright.cli import _checkpoints
    from clusterwright.launch.checkpoints import convert as write

    where = _checkpoints.seen(source, cluster, host)
    return _checkpoints.show_converted(
        write(source, target, where, to=to, origin=from_, name=name), json=json
    )
