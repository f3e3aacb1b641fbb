"""`wright lab up|status|shell|fault|campaign|down`."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from clusterwright.cli._live_names import CAMPAIGN_FAULTS, FAULTS, LAB_HOSTS, LABS
from clusterwright.cli._numbers import Count
from clusterwright.cli._progress import progress
from clusterwright.cli._show import (
    cluster_option,
    is_confirmed,
    show_json,
    show_message,
    show_next,
    show_table,
)
from clusterwright.cli._wrapping import command_text
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import N_, _
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.lab.chaos.kind import Planned
    from clusterwright.lab.chaos.score import Score

SCHEMA = 1  # of campaign.json

lab = App(
    name="lab",
    help="Run a cluster of virtual hosts on this machine, for tests and fault injection.",
    default_parameter=Parameter(negative=()),
)


@lab.command
def up(*, cluster: Path | None = None) -> int:
    """Start the lab of a cluster file; without one: five virtual hosts with simulated GPUs.

    Parameters
    ----------
    cluster
        Cluster file with a `lab` section; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else a built-in one.
    """
    from clusterwright import lab as labs
    from clusterwright.config.load import load_cluster

    file = _lab_file(cluster)
    with progress("lab up"):
        state = labs.up(load_cluster(file), log=show_message)
    host = state.layout.hosts[-1].name
    show_next(
        f"wright apply {cluster_option(file)}; wright lab status {state.name}; ssh -F {state.ssh_config} {host}"
    )
    return 0


@lab.command
def status(name: Annotated[str | None, LABS] = None, /, *, json: bool = False) -> int:
    """Show every host of a lab and its injected faults.

    Parameters
    ----------
    name
        Name of the lab or its cluster file; default: the lab of ./cluster.yaml, else the only lab.
    json
        Print one JSON document on stdout.
    """
    from clusterwright import lab as labs

    rows = labs.status(_name(name))
    if json:
        show_json(rows)
        return 0
    cells = [
        (row.host, row.address, row.state, _uptime(row.uptime_s), ", ".join(row.faults) or "-")
        for row in rows
    ]
    show_table(("host", "address", "state", "uptime", "faults"), cells)
    return 0


@lab.command
def shell(
    host: Annotated[str, LAB_HOSTS],
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    name: Annotated[str | None, LABS] = None,
) -> int:
    """Open a root shell on a host, or run a command there.

    Parameters
    ----------
    host
        Host of the lab.
    command
        Command with its arguments; a single argument is run by the shell.
    name
        Name of the lab or its cluster file; default: the lab of ./cluster.yaml, else the only lab.
    """
    import shlex

    from clusterwright.edge.terminal import run_interactive
    from clusterwright.lab.state import require

    state = require(_name(name, "--name"))
    state.layout.host(host)
    arguments = command if len(command) < 2 else (shlex.join(command),)
    return run_interactive(["ssh", "-F", str(state.ssh_config), host, *arguments])


def _kinds() -> str:
    """Return the names of all faults, from their file names: a help text imports nothing of the lab."""
    files = Path(__file__).parents[1].joinpath("lab", "faults").glob("[a-z]*.py")
    return ", ".join(sorted(path.stem.replace("_", "-") for path in files))


_FAULT_HELP = N_(
    "Inject a fault: `wright lab fault KIND HOST`; `wright lab fault undo HOST|all` undoes it. Kinds:"
)
_FAULT_OPTIONS = N_(
    "Options of some kinds: --network and --rate for links, --rate for disks, --by for clocks, --gpu, --xid and --link "
    "for GPUs, --port for RDMA, --per-minute and --percent for faults that grow, --most for leaks."
)


@lab.command(help=f"{_FAULT_HELP}\n\n{_kinds()}\n\n{_FAULT_OPTIONS}")
def fault(
    kind: Annotated[str, Parameter(help="Kind of fault, or undo."), FAULTS],
    host: Annotated[str, Parameter(help="Host of the lab; with undo also all."), LAB_HOSTS],
    /,
    *,
    name: Annotated[
        str | None,
        Parameter(
            help="Name of the lab or its cluster file; default: the lab of ./cluster.yaml, else the only lab."
        ),
        LABS,
    ] = None,
    **options: Annotated[str, Parameter(show=False)],
) -> int:
    """Inject a fault, or undo it."""
    from clusterwright import lab as labs

    chosen = _name(name, "--name")
    if kind == "undo":
        undone = labs.undo(chosen, host)
        show_message(
            "\n".join(
                _("fault undone: {kind} on {host}", kind=entry.kind, host=entry.host) for entry in undone
            )
            or _("no fault on {host}", host=host)
        )
        return 0
    lasts = any(
        (entry.kind, entry.host) == (kind, host) for entry in labs.fault(chosen, kind, host, **options).faults
    )
    show_message(_("fault injected: {kind} on {host}", kind=kind, host=host))
    if lasts:
        show_message(_("to undo the fault: {command}", command=command_text(f"wright lab fault undo {host}")))
    return 0


@lab.command
def campaign(
    *,
    cluster: Path | None = None,
    seed: int = 1,
    faults: Count = 20,
    only: Annotated[tuple[str, ...], CAMPAIGN_FAULTS] = (),
    out: Path = Path("build/campaign"),
) -> int:
    """Inject faults under trainings on the lab, verify that each is detected, explained and fixed, and write a report.

    `wright heal watch` runs meanwhile with the settings of the cluster file. Exit code: 0 if every fault was handled
    as expected.

    Parameters
    ----------
    cluster
        Cluster file of a lab, which is started, built, and stays; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    seed
        Seed of the random faults; the same seed injects the same faults in the same order.
    faults
        Number of faults.
    only
        Only this kind of fault; repeatable.
    out
        Output folder for the report, campaign.html and campaign.json.
    """
    from clusterwright.cli._connection import cluster_file

    return run_campaign(cluster_file(cluster), seed=seed, faults=faults, only=only, out=out)


@lab.command
def down(name: Annotated[str | None, LABS] = None, /, *, yes: bool = False) -> int:
    """Remove a lab: its hosts, their disks, its networks and its shared folder with all runs.

    Asks for confirmation on a terminal if runs would be deleted.

    Parameters
    ----------
    name
        Name of the lab or its cluster file; default: the lab of ./cluster.yaml, else the only lab.
    yes
        Do not ask for confirmation.
    """
    from clusterwright import lab as labs

    if name is None and not labs.labs():
        show_message(_("no lab exists; nothing to do"))
        return 0
    chosen = _name(name)
    if chosen not in labs.labs():
        show_message(
            _("no lab `{name}` exists; labs: {names}", name=chosen, names=", ".join(labs.labs()) or "-")
        )
    if not (yes or _agreed(chosen)):
        return 1
    leftovers = labs.down(chosen, log=show_message)
    for item in leftovers:
        show_message(_("not removed from the lab: {item}", item=item))
    return 1 if leftovers else 0


def _agreed(name: str) -> bool:
    """Return False if the lab has runs and the user on the terminal declines to delete them; else True.

    Without a terminal always True.
    """
    from clusterwright.lab.state import folder

    if not sys.stdin.isatty() or not any(folder(name).glob("shared/*/runs/*")):
        return True
    return is_confirmed(
        _("This deletes the runs in the shared folder of lab `{name}`. Remove the lab?", name=name)
    )


def _uptime(uptime_s: int | None) -> str:
    return "-" if uptime_s is None else human_duration(uptime_s)


def _name(name: str | None, option: str = "") -> str:
    """Return the name of the lab: `name`, or that in the cluster file `name`, in ./cluster.yaml, or of the only lab.

    `option` is the one that names the lab, for the fix; empty if an argument does.

    Raises:
        WrightError: there is no lab, or several.
    """
    from clusterwright.config.load import load_cluster
    from clusterwright.lab.state import labs

    if name and name.endswith((".yaml", ".yml")):
        return load_cluster(Path(name)).name
    if name:
        return name
    path = Path("cluster.yaml")
    if path.exists() and (cluster := load_cluster(path)).lab:
        return cluster.name
    lab_names = labs()
    if len(lab_names) == 1:
        return lab_names[0]
    message = (
        _("several labs exist: {names}", names=", ".join(lab_names)) if lab_names else _("no lab exists")
    )
    example = f"{option} {lab_names[0]}".strip() if lab_names else ""
    fix = _("name the lab: {example}", example=example) if lab_names else _("start a lab: wright lab up")
    raise WrightError.from_code("lab-which", message, fix, exit_code=EXIT_USAGE)


def _lab_file(named: Path | None) -> Path:
    """Return the cluster file of --cluster or of this folder, else the package's template of a lab."""
    from importlib.resources import files

    from clusterwright.cli._connection import cluster_file, has_cluster_file

    if named or has_cluster_file():
        return cluster_file(named)
    return Path(str(files("clusterwright.config") / "templates" / "lab.yaml"))


def run_campaign(file: Path, *, seed: int, faults: int, only: tuple[str, ...], out: Path) -> int:
    """Start the lab of the cluster file, apply it, inject faults drawn by `seed`, and write the report.

    `only` limits the kinds of faults; `out` is the report's folder. Return EXIT_OK if every fault was handled as
    expected, else EXIT_FAILED.

    Raises:
        WrightError: the cluster is no lab, a kind is unknown, or the apply failed.
    """
    from clusterwright.config.load import load_cluster
    from clusterwright.edge.clock import SystemClock
    from clusterwright.lab import up
    from clusterwright.lab.chaos.campaign import Campaign, healing
    from clusterwright.lab.chaos.wright import Wright
    from clusterwright.provision.apply import apply, remote_of

    cluster, drawn = load_cluster(file), _drawn(seed, faults, only)
    if cluster.lab is None:
        raise WrightError.from_code(
            "campaign-not-a-lab",
            _("{file} has no `lab` section: a campaign kills hosts", file=file),
            _("pass a cluster file with a `lab` section"),
            exit_code=EXIT_USAGE,
        )
    up(cluster, log=show_message)
    remote = remote_of(cluster)
    if wrong := [host.host for host in apply(cluster, str(file), remote).hosts if not host.ok]:
        raise WrightError.from_code(
            "campaign-apply",
            _("wright apply failed on {hosts}", hosts=", ".join(wrong)),
            _(
                "run `{command}` and fix the errors that it reports",
                command=command_text(f"wright apply {cluster_option(file)}"),
            ),
        )
    out.mkdir(parents=True, exist_ok=True)
    scores: list[Score] = []
    try:
        with healing(file, out / "heal.log"):
            for score in Campaign(cluster, remote, Wright(file), SystemClock(), show_message).run(drawn):
                scores.append(score)
                _write(out, scores, seed, len(drawn), cluster)
    finally:
        show_message(
            _("report: {file}", file=out / "campaign.html") if scores else _("no fault was injected")
        )
    return EXIT_OK if all(score.passed for score in scores) else EXIT_FAILED


def _drawn(seed: int, faults: int, only: tuple[str, ...]) -> tuple[Planned, ...]:
    from clusterwright.lab.chaos.kind import draw, kinds

    kinds_by_name = kinds()
    if strange := set(only) - set(kinds_by_name):
        message = _("no kind of fault has the name `{kind}`", kind=min(strange))
        fix = unknown_name_fix(min(strange), kinds_by_name)
        raise WrightError.from_code("campaign-kind", message, fix, exit_code=EXIT_USAGE)
    return draw(
        seed, faults, {name: kinds_by_name[name] for name in kinds_by_name if not only or name in only}
    )


def _write(out: Path, scores: list[Score], seed: int, fault_count: int, cluster: Cluster) -> None:
    """Write the campaign's report so far into the folder `out`: campaign.json and campaign.html.

    Called after each fault, so that an interrupted campaign has a report too.
    """
    from clusterwright.edge.files import write_file_atomic
    from clusterwright.lab.chaos.html_report import render_html
    from clusterwright.lab.chaos.score import document, summary
    from clusterwright.lab.demo import local_machine

    machine = local_machine.machine()
    hardware = _(
        "{hosts} virtual hosts on {cores} cores of {processor}",
        hosts=len(cluster.hosts("compute")),
        cores=machine["cores"],
        processor=machine["processor"],
    )
    figures = {
        "schema": SCHEMA,
        "seed": seed,
        "machine": machine,
        **summary(scores),
        "each": document(scores),
    }
    write_file_atomic(out / "campaign.json", dumps(figures, indent=1, default=str) + "\n")
    write_file_atomic(out / "campaign.html", render_html(scores, seed, fault_count, hardware))
