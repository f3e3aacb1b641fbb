"""`wright checkpoints list|verify|convert`."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from clusterwright.cli._live_names import HOSTS, RUNS
from clusterwright.cli._numbers import CountOrZero
from clusterwright.cli._show import show_json, show_message, show_table, show_text
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import human_duration, human_size

if TYPE_CHECKING:
    from clusterwright.launch.checkpoints import CheckpointHost


checkpoints = App(
    name="checkpoints",
    help="List, verify and convert the checkpoints of a run.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@checkpoints.command(name="list")
def list_(
    run: Annotated[str, RUNS] = "last",
    /,
    *,
    cluster: Path | None = None,
    host: Annotated[str, HOSTS] = "",
    json: bool = False,
) -> int:
    """List the checkpoints of a run: content, verification, what the next save deletes, and incomplete saves.

    Parameters
    ----------
    run
        Name of a run, job id or `last` on the cluster; or the folder of a run or of checkpoints, here or on a host.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    host
        Host that reads the folder; default: the control host.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.launch.checkpoints import listing

    return show_list(listing(*located(run, cluster, host)), json=json)


@checkpoints.command
def verify(
    run: Annotated[str, RUNS],
    /,
    *,
    step: CountOrZero | None = None,
    all_: Annotated[bool, Parameter(name="--all")] = False,
    cluster: Path | None = None,
    host: Annotated[str, HOSTS] = "",
    json: bool = False,
) -> int:
    """Verify every byte of the newest checkpoint; report damaged files and tensors. Exit code 5 unless all are good.

    Parameters
    ----------
    run
        Name of a run, job id or `last` on the cluster; or the folder of a run, of checkpoints or of one checkpoint.
    step
        Verify the checkpoint of this step.
    all_
        Verify all checkpoints.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    host
        Host that reads, with the cluster's Python; default: the control host.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.launch.checkpoints import verify as read

    report = read(*located(run, cluster, host), step=step, everything=all_)
    return show_verified(report, json=json)


@checkpoints.command
def convert(
    source: Annotated[str, RUNS],
    target: str,
    /,
    *,
    to: Literal["torch", "dcp", "safetensors"] | None = None,
    from_: Annotated[Literal["torch", "dcp"] | None, Parameter(name="--from")] = None,
    name: str = "model",
    cluster: Path | None = None,
    host: Annotated[str, HOSTS] = "",
    json: bool = False,
) -> int:
    """Convert a checkpoint to or from another format: bit-exact, written atomically.

    Parameters
    ----------
    source
        Folder of a checkpoint, or a run, whose newest is converted; with --from, the file or folder to read.
    target
        Path that does not exist yet; with --from, a folder named after its step: checkpoints/step-00000100.
    to
        torch: one file; dcp: a folder; safetensors: a folder with only the model, under its own names.
    from_
        torch: a file of torch.save; dcp: a folder of torch's distributed checkpoints.
    name
        Name under which the model was tracked.
    cluster
        Cluster file, for a run of the cluster; target is then a path there.
    host
        Host that converts, with the cluster's Python; default: the control host.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli._file_kinds import require_file_kind
    from clusterwright.config.file_kinds import TORCH
    from clusterwright.launch.checkpoints import convert as write

    if not (host or cluster) and is_swapped(source, target):
        raise swapped(source, target)
    if not (host or cluster) and (to or not from_) and Path(source).is_file():
        require_file_kind(Path(source), _("a checkpoint"), TORCH)
        raise _file_to_convert(source, target, to)
    source, source_host = located(source, cluster, host, TORCH)
    return show_converted(write(source, target, source_host, to=to, origin=from_, name=name), json=json)


def is_swapped(source: str, target: str) -> bool:
    """Return True if the source, which is named like a file, does not exist and the target does."""
    is_file = "/" in source or bool(Path(source).suffix)
    return is_file and not Path(source).exists() and Path(target).exists()


def swapped(source: str, target: str) -> WrightError:
    """Return the error of a target in front of its source."""
    message = _("no such file: {path}", path=source)
    line = shlex.join(("wright", "checkpoints", "convert", target, source))
    return WrightError.from_code(
        "file-unreadable", message, _("write the source first: {line}", line=line), exit_code=EXIT_USAGE
    )


def _file_to_convert(source: str, target: str, to: str | None) -> WrightError:
    """Return the error of a file that is to be converted without --from, with the lines to write."""
    from clusterwright.config.file_kinds import STEP

    is_step = STEP.fullmatch(Path(target).name) is not None
    step = target if is_step else "checkpoints/step-00000000"
    lines = [f"wright checkpoints convert {shlex.quote(source)} {shlex.quote(step)} --from torch"]
    if to not in (None, "torch"):
        result = "model" if is_step else shlex.quote(target)
        lines.append(f"wright checkpoints convert {shlex.quote(step)} {result} --to {to}")
    message = _(
        "{file} is a file: a checkpoint is made of it with --from, and --to converts a checkpoint",
        file=source,
    )
    return WrightError.from_code(
        "checkpoint-form", message, _("write {line}", line="; ".join(lines)), exit_code=EXIT_USAGE
    )


def located(
    source: str, cluster: Path | None, host: str, *accepted: str
) -> tuple[str, CheckpointHost | None]:
    """Return the name of a run or the path of its checkpoints, and the host that reads them; None for this machine.

    `accepted`: kinds of files that the action reads too.

    Raises:
        WrightError: there is no such run here and no cluster file, or the cluster has no such host.
    """
    from clusterwright.cli._connection import cluster_of_run, connection_to, find_cluster, local_run
    from clusterwright.cli._file_kinds import require_file_kind
    from clusterwright.cli._hostlist import hosts_of
    from clusterwright.config.file_kinds import FOLDERS
    from clusterwright.launch.checkpoints import CheckpointHost

    if not (cluster or host):
        if folder := local_run(source, cluster):
            return str(folder), None
        if "/" in source or Path(source).exists():
            require_file_kind(Path(source), _("a run or a folder of checkpoints"), *FOLDERS, *accepted)
            return source, None
    cluster_config = find_cluster(cluster) if host else cluster_of_run(source, cluster)
    hosts_of(cluster_config, host)
    return source, CheckpointHost(cluster_config, connection_to(cluster_config), host)


def show_list(listing: dict[str, Any], *, json: bool, now: float | None = None) -> int:
    """Print a table with one line for each checkpoint; notes and incomplete saves go to stderr. Return 0.

    With `json` print the listing instead; ages are relative to `now`, by default the present.
    """
    if json:
        show_json(listing)
        return 0
    current_time = time.time() if now is None else now
    rows = [_row(row, current_time) for row in listing["checkpoints"]]
    if rows:
        show_table(("step", "saved", "size", "ranks", "torch", "verified", "tags", "next save"), rows)
    for row in listing["checkpoints"]:
        if row["reason"]:
            show_message(_("step {step}: {reason}", step=row["step"], reason=row["reason"]))
    for partial in listing["partial"]:
        size, age = human_size(partial["bytes"]), _ago(partial["time"], current_time)
        show_message(
            _("{name}: incomplete save or removal, {size}, {age}", name=partial["name"], size=size, age=age)
        )
    limit = listing["save_total_limit"]
    show_message(
        _("{folder}: retains the newest {count} valid checkpoints", folder=listing["folder"], count=limit)
    )
    return 0


def show_verified(report: dict[str, Any], *, json: bool) -> int:
    """Print one row per verified checkpoint and what is wrong; return 5 unless all are intact, else 0."""
    rows = report["checkpoints"]
    if json:
        show_json(report)
    else:
        cells = [
            (str(row["step"]), row["state"], human_size(row["bytes"]), human_duration(row["seconds"]))
            for row in rows
        ]
        show_table(("step", "state", "size", "duration"), cells)
        for row in rows:
            if row["reason"]:
                show_text(_("step {step}: {reason}", step=row["step"], reason=row["reason"]))
            if not row["noted"]:
                folder = report["folder"]
                show_message(
                    _("step {step}: cannot store the result in {folder}", step=row["step"], folder=folder)
                )
    return 5 if any(row["state"] != "verified" for row in rows) else 0


def show_converted(report: dict[str, Any], *, json: bool) -> int:
    """Print the path and size that a conversion of a checkpoint wrote, and what was not converted; return 0."""
    if json:
        show_json(report)
    else:
        show_text(_("{target}  {size}, bit-exact", target=report["target"], size=human_size(report["bytes"])))
        show_message(_("not converted: {items}", items=", ".join(report["left_behind"])))
    return 0


def _row(row: dict[str, Any], now: float) -> tuple[str, ...]:
    checked = _ago(row["verified_at"], now)
    on_save = row["verified_at"] == row["time"]
    problem = {"damaged": _("damaged"), "other-format": _("other format")}.get(row["state"])
    verified = problem or (_("on save") if on_save else checked)
    ranks = "-" if row["world_size"] is None else str(row["world_size"])
    tags = ", ".join(row["tags"]) or "-"
    saved = _ago(row["time"], now)
    return (
        str(row["step"]),
        saved,
        human_size(row["bytes"]),
        ranks,
        row["torch"] or "-",
        verified,
        tags,
        row["fate"],
    )


def _ago(when: float | None, now: float) -> str:
    return "-" if when is None else _("{duration} ago", duration=human_duration(max(0, round(now - when))))
