"""`wright lab up|status|shell|fault|campaign|down`."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from clusterwright.cli._show import show_json, show_message, show_table
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.lab.chaos.kind import Planned
    from clusterwright.lab.chaos.score import Score

SCHEMA = 1  # of campaign.json

lab = App(name="lab", help="Virtual hosts on this machine: a real cluster to try things on, and to break.")


@lab.command
def up(file: Path | None = None, /) -> int:
    """Make the lab that the cluster file describes; without a file, five hosts with simulated GPUs."""
    from clusterwright import lab as labs
    from clusterwright.config.load import load_cluster

    state = labs.up(load_cluster(file or _default_file()), log=show_message)
    show_message(
        _(
            "next: wright lab status {state}; ssh -F {ssh_config} {name}",
            state=state.name,
            ssh_config=state.ssh_config,
            name=state.layout.hosts[-1].name,
        )
    )
    return 0


@lab.command
def status(name: str | None = None, /, *, json: bool = False) -> int:
    """Show every host of a lab, and the faults in force."""
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
    host: str, /, *command: Annotated[str, Parameter(allow_leading_hyphen=True)], name: str | None = None
) -> int:
    """Open a shell as root on a host, or run one command there; one word is a shell's text."""
    import shlex

    from clusterwright.edge.terminal import run_interactive
    from clusterwright.lab.state import require

    state = require(_name(name))
    state.layout.host(host)
    arguments = command if len(command) < 2 else (shlex.join(command),)
    return run_interactive(["ssh", "-F", str(state.ssh_config), host, *arguments])


def _kinds() -> str:
    """Every fault there is, by its file: nothing of the lab is imported for a help text."""
    files = Path(__file__).parents[1].joinpath("lab", "faults").glob("[a-z]*.py")
    return ", ".join(sorted(path.stem.replace("_", "-") for path in files))


@lab.command(
    help="Break something: `wright lab fault KIND HOST`; `wright lab fault undo HOST|all` fixes it.\n\n"
    f"Kinds: {_kinds()}. Some take options: --network and --rate for links, --rate for disks, --by for clocks, "
    "--gpu, --xid and --link for GPUs, --port for RDMA."
)
def fault(
    kind: str, host: str, /, *, name: str | None = None, **options: Annotated[str, Parameter(show=False)]
) -> int:
    """Break something, or fix it."""
    from clusterwright import lab as labs

    chosen = _name(name)
    if kind == "undo":
        undone = labs.undo(chosen, host)
        show_message(
            "\n".join(f"undone: {entry.kind} on {entry.host}" for entry in undone) or f"no fault on {host}"
        )
        return 0
    lasts = any(
        (entry.kind, entry.host) == (kind, host) for entry in labs.fault(chosen, kind, host, **options).faults
    )
    show_message(
        _("{kind} on {host}: done", kind=kind, host=host)
        + (_("; take it back with: wright lab fault undo {host}", host=host) if lasts else "")
    )
    return 0


@lab.command
def campaign(
    file: Path,
    /,
    *,
    seed: int = 1,
    faults: int = 20,
    only: tuple[str, ...] = (),
    out: Path = Path("build/campaign"),
) -> int:
    """Plant faults under trainings on the lab, see them found, explained and fixed, and write a page of it.

    `wright heal watch` runs beside it as the cluster file allows. Exit code: 0 when all became what it should.

    Parameters
    ----------
    file
        The file of a lab: it is brought up and built, and stays.
    seed
        The same seed plants the same faults in the same order.
    faults
        How many.
    only
        Only this kind of fault; may be given several times.
    out
        Where campaign.html and campaign.json go.
    """
    return run_campaign(file, seed=seed, faults=faults, only=only, out=out)


@lab.command
def down(name: str | None = None, /, *, yes: bool = False) -> int:
    """Take a lab away: its hosts, their disks, its networks and its shared folder with the runs in it.

    Asks on a terminal when there are runs, unless told --yes.
    """
    from clusterwright import lab as labs

    if name is None and not labs.labs():
        show_message(_("there is no lab; nothing to do"))
        return 0
    chosen = _name(name)
    if chosen not in labs.labs():
        show_message(
            _(
                "there is no lab `{chosen}`; labs at present: {names}",
                chosen=chosen,
                names=", ".join(labs.labs()) or "none",
            )
        )
    if not (yes or _agreed(chosen)):
        return 1
    leftovers = labs.down(chosen, log=show_message)
    show_message("\n".join(f"left behind: {item}" for item in leftovers)) if leftovers else None
    return 1 if leftovers else 0


def _agreed(name: str) -> bool:
    """True unless there are runs to lose and somebody at the terminal who does not want that."""
    from clusterwright.lab.state import folder

    if not sys.stdin.isatty() or not any(folder(name).glob("shared/*/runs/*")):
        return True
    return input(f"The runs in lab `{name}`'s shared folder go with it. Take it down? [y/N] ").strip() == "y"


def _uptime(uptime_s: int | None) -> str:
    from clusterwright.units import format_duration

    return "-" if uptime_s is None else format_duration(uptime_s)


def _name(name: str | None) -> str:
    """The lab meant: named, or that of a cluster file; else that of ./cluster.yaml, else the only one there is."""
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
        _("there are several labs: {lab_names}", lab_names=", ".join(lab_names))
        if lab_names
        else _("there is no lab")
    )
    fix = _("name one of them") if lab_names else _("bring one up: wright lab up")
    raise WrightError.from_code("lab-which", message, fix, exit_code=EXIT_USAGE)


def _default_file() -> Path:
    """The lab file that comes with the package."""
    from importlib.resources import files

    return Path(str(files("clusterwright.config") / "templates" / "lab.yaml"))


def run_campaign(file: Path, *, seed: int, faults: int, only: tuple[str, ...], out: Path) -> int:
    """0 when every fault of the campaign has become what it should."""
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
            _("{file} is not the file of a lab: a campaign kills hosts", file=file),
            _("give a file with the section `lab`"),
            exit_code=EXIT_USAGE,
        )
    up(cluster, log=show_message)
    remote = remote_of(cluster)
    if wrong := [host.host for host in apply(cluster, str(file), remote).hosts if not host.ok]:
        raise WrightError.from_code(
            "campaign-apply",
            _("apply failed on {wrong}", wrong=", ".join(wrong)),
            _("wright apply {file}", file=file),
        )
    out.mkdir(parents=True, exist_ok=True)
    scores: list[Score] = []
    try:
        with healing(file, out / "heal.log"):
            for score in Campaign(cluster, remote, Wright(file), SystemClock(), show_message).run(drawn):
                scores.append(score)
                _write(out, scores, seed, len(drawn), cluster)
    finally:
        show_message(f"page: {out / 'campaign.html'}" if scores else _("no fault was planted"))
    return EXIT_OK if all(score.passed for score in scores) else EXIT_FAILED


def _drawn(seed: int, faults: int, only: tuple[str, ...]) -> tuple[Planned, ...]:
    from clusterwright.lab.chaos.kind import draw, kinds

    kinds_by_name = kinds()
    if strange := set(only) - set(kinds_by_name):
        message, fix = f"there is no kind `{min(strange)}`", f"name some of: {', '.join(kinds_by_name)}"
        raise WrightError.from_code("campaign-kind", message, fix, exit_code=EXIT_USAGE)
    return draw(
        seed, faults, {name: kinds_by_name[name] for name in kinds_by_name if not only or name in only}
    )


def _write(out: Path, scores: list[Score], seed: int, fault_count: int, cluster: Cluster) -> None:
    """Whole, after each fault: a campaign that is ended has its page, too."""
    from clusterwright.edge.files import write_file_atomic
    from clusterwright.lab.chaos.html_report import render_html
    from clusterwright.lab.chaos.score import document, summary
    from clusterwright.lab.demo import local_machine

    machine = local_machine.machine()
    hardware = f"{len(cluster.hosts('compute'))} hosts on {machine['cores']} cores of {machine['processor']}"
    figures = {
        "schema": SCHEMA,
        "seed": seed,
        "machine": machine,
        **summary(scores),
        "each": document(scores),
    }
    write_file_atomic(out / "campaign.json", dumps(figures, indent=1, default=str) + "\n")
    write_file_atomic(out / "campaign.html", render_html(scores, seed, fault_count, hardware))
