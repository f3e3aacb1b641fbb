"""`wright checkpoints list|verify|convert`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from clusterwright.cli._show import show_json, show_message, show_table, show_text
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.launch.checkpoints import CheckpointHost


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
    from clusterwright.launch.checkpoints import listing

    return show_list(listing(run, checkpoint_host(run, cluster, host)), json=json)


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
    from clusterwright.launch.checkpoints import verify as read

    report = read(run, checkpoint_host(run, cluster, host), step=step, everything=all_)
    return show_verified(report, json=json)


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
    from clusterwright.launch.checkpoints import convert as write

    source_host = checkpoint_host(source, cluster, host)
    return show_converted(write(source, target, source_host, to=to, origin=from_, name=name), json=json)


_PREFIXES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"))


def checkpoint_host(source: str, cluster: Path | None, host: str) -> CheckpointHost | None:
    """The host that sees them; None for what is on this machine."""
    from clusterwright.cli._connection import connection_to, find_cluster
    from clusterwright.launch.checkpoints import CheckpointHost

    if not (cluster or host) and ("/" in source or Path(source).exists()):
        return None
    cluster_config = find_cluster(cluster)
    return CheckpointHost(cluster_config, connection_to(cluster_config), host)


def show_list(listing: dict[str, Any], *, json: bool, now: float | None = None) -> int:
    """One row for each; half-done saves as talk."""
    if json:
        show_json(listing)
        return 0
    current_time = time.time() if now is None else now
    rows = [_row(row, current_time) for row in listing["checkpoints"]]
    if rows:
        columns = ("step", "saved", "size", "ranks", "torch", "verified", "mark", "next save")
        show_table(columns, rows)
    for row in listing["checkpoints"]:
        if row["why"]:
            show_message(_("step {row}: {row2}", row=row["step"], row2=row["why"]))
    for partial in listing["partial"]:
        size, age = _size(partial["bytes"]), _ago(partial["time"], current_time)
        show_message(
            _(
                "{partial}: a save or removal that is not finished, {size}, {age}",
                partial=partial["name"],
                size=size,
                age=age,
            )
        )
    show_message(
        _(
            "{listing} keeps {listing2} good ones",
            listing=listing["folder"],
            listing2=listing["save_total_limit"],
        )
    )
    return 0


def show_verified(report: dict[str, Any], *, json: bool) -> int:
    """One row for each, and what is damaged; 5 when anything is."""
    rows = report["checkpoints"]
    if json:
        show_json(report)
    else:
        cells = [
            (str(row["step"]), row["state"], _size(row["bytes"]), f"{row['seconds']:.1f} s") for row in rows
        ]
        show_table(("step", "bytes", "size", "took"), cells)
        for row in rows:
            if row["why"]:
                show_text(_("step {row}: {row2}", row=row["step"], row2=row["why"]))
            if not row["noted"]:
                show_message(
                    _(
                        "step {row}: the outcome could not be noted in {report}",
                        row=row["step"],
                        report=report["folder"],
                    )
                )
    return 5 if any(row["state"] == "damaged" for row in rows) else 0


def show_converted(report: dict[str, Any], *, json: bool) -> int:
    """What was written, and what was not."""
    if json:
        show_json(report)
    else:
        show_text(
            _("{report}  {size}, equal bit for bit", report=report["target"], size=_size(report["bytes"]))
        )
        show_message(_("not carried: {report}", report=", ".join(report["left_behind"])))
    return 0


def _row(row: dict[str, Any], now: float) -> tuple[str, ...]:
    checked = _ago(row["verified_at"], now)
    verified = (
        "damaged"
        if row["state"] == "damaged"
        else "when saved"
        if row["verified_at"] == row["time"]
        else checked
    )
    ranks = "-" if row["world_size"] is None else str(row["world_size"])
    tags = ", ".join(row["marks"]) or "-"
    saved = _ago(row["time"], now)
    return (
        str(row["step"]),
        saved,
        _size(row["bytes"]),
        ranks,
        row["torch"] or "-",
        verified,
        tags,
        row["fate"],
    )


def _size(count: int) -> str:
    for unit, name in _PREFIXES:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"


def _ago(when: float | None, now: float) -> str:
    if when is None:
        return "-"
    seconds = max(0.0, now - when)
    for unit, name in _SPANS:
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name} ago"
    return f"{seconds:.0f} s ago"
