"""`wright heal [CLUSTER.YAML]`, `wright heal watch|approve|undo|log`: here, or where the unit of heal runs."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from clusterwright.cli._show import say, show_json, show_table, show_text
from clusterwright.cli._there import cluster_file, way_to
from clusterwright.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, WrightError

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.heal.decide import Decision
    from clusterwright.heal.journal import Entry, Journal
    from clusterwright.heal.loop.loop import Loop

SCHEMA = 1

heal = App(
    name="heal",
    help="Repair the cluster as far as the cluster file allows: drain, restart, reset, reboot, replace, resume.",
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
    return _propose(file, here=here, json=json) if plan else _heal_once(file, here=here, json=json)


@heal.command
def watch(file: Path | None = None, /, *, here: Here = False) -> int:
    """Do so again and again, until it is ended; one loop at a time. A kill at any moment neither repeats nor forgets.

    Parameters
    ----------
    file
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.heal.loop import here as joined

    place = _place(file, here=here)
    _not_off(place)
    if place.far:
        raise WrightError.of(
            "heal-runs-already",
            f"heal.watch of {place.file} has a unit on {place.cluster.control.name} do it",
            "see `wright heal log`; take heal.watch out and apply to run it elsewhere",
            exit_code=EXIT_USAGE,
        )
    with joined.alone(place.folder()):
        loop = place.loop(place.journal())
        say(f"watching {place.cluster.name}, mode {loop.policy.mode}, every {place.cluster.heal.every} s")
        joined.watch(loop, place.cluster.heal.every, time.sleep)
    return EXIT_DONE


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
    from clusterwright.heal.loop import here as joined
    from clusterwright.heal.loop.deeds import line

    place = _place(cluster, here=here)
    if place.far:
        return place.forward("approve", str(id_), "--cluster", place.file_on_control)
    journal = place.journal()
    entry = _entry(journal, id_)
    if entry.deed.state != "proposed":
        raise WrightError.of(
            "heal-not-proposed",
            f"#{id_} is {entry.deed.state}: only what is proposed can be approved",
            "see `wright heal log`",
            exit_code=EXIT_USAGE,
        )
    journal.mark(id_, "approved", joined.moment(), wall=time.time())
    say(f"#{id_} {line(entry.deed.intent)}: done at the next look, if it is still wanted")
    return EXIT_DONE


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
    from clusterwright.heal.act import Order, action
    from clusterwright.heal.loop import here as joined

    place = _place(cluster, here=here)
    if place.far:
        return place.forward("undo", str(id_), "--cluster", place.file_on_control)
    journal = place.journal()
    entry = _entry(journal, id_)
    how = action(entry.deed.intent.action)
    if entry.deed.state != "done" or not hasattr(how, "undo"):
        state = entry.deed.state if entry.deed.state != "done" else "not a thing that can be taken back"
        raise WrightError.of(
            "heal-no-undo",
            f"#{id_}, {entry.deed.intent.action} of {entry.deed.intent.host}, is {state}",
            "`wright heal log` says what can be undone, and how",
            exit_code=EXIT_USAGE,
        )
    hands = place.loop(journal).deeds.hands
    if said := how.undo(Order(id_, entry.deed.intent), hands):
        say(f"#{id_} is not undone: {said}")
        return EXIT_FAILED
    journal.mark(id_, "undone", joined.moment(), wall=time.time())
    say(f"#{id_} is undone; the same is not done again before its pause is over")
    return EXIT_DONE


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
    place = _place(cluster, here=here)
    if place.far:
        words = ("log", "--cluster", place.file_on_control, "--last", str(last))
        return place.forward(*words, *(["--json"] if json else []))
    journal = place.journal()
    entries, tells = journal.entries()[-last:], journal.tells()[-last:]
    if json:
        show_json({"schema": SCHEMA, "deeds": [_row(entry) for entry in entries], "tells": tells})
        return EXIT_DONE
    rows = [_row(entry) for entry in entries]
    columns = ("id", "time", "host", "action", "state", "rule", "why", "said", "undo")
    show_table(columns, [[str(row[column]) for column in columns] for row in rows])
    for tell in tells:
        sys.stdout.write(f"{_clock(tell.wall)} told: {tell.words}\n")
    return EXIT_DONE


def _propose(file: Path | None, *, here: bool, json: bool) -> int:
    """What would be done if all were still so at the next look; nothing is written."""
    from clusterwright.heal.decide import decide
    from clusterwright.heal.loop import here as joined

    place = _place(file, here=here)
    if place.far:
        return place.forward(place.file_on_control, "--plan", *(["--json"] if json else []))
    journal = place.journal()
    loop = place.loop(journal)
    past = journal.past(joined.moment(), loop.policy.window_s)
    seen = loop.look_at_all()
    first = decide(seen, past, loop.policy, loop.rules)
    again = dataclasses.replace(past, witnesses=first.witnesses, incidents=first.incidents)
    _show_plan(loop, decide(seen, again, loop.policy, loop.rules), slurm=seen.slurm, json=json)
    return EXIT_DONE if seen.slurm else EXIT_FAILED


def _heal_once(file: Path | None, *, here: bool, json: bool) -> int:
    """Two looks, since what was seen once is not believed; then what they allow."""
    from clusterwright.heal.loop import here as joined

    place = _place(file, here=here)
    _not_off(place)
    if place.far:
        return place.forward(place.file_on_control, *(["--json"] if json else []))
    with joined.alone(place.folder()):
        journal = place.journal()
        loop = place.loop(journal)
        before = len(journal.entries())
        loop.tick()
        loop.tick()
        fresh = journal.entries()[before:]
    if json:
        show_json({"schema": SCHEMA, "deeds": [_row(entry) for entry in fresh]})
    elif not fresh:
        say("nothing was to be done")
    return EXIT_DONE


@dataclasses.dataclass(frozen=True)
class _Place:
    """The cluster, its file, the way to it, and where its journal is."""

    cluster: Cluster
    file: Path
    remote: Remote
    here: bool

    @property
    def far(self) -> bool:
        """True where the unit on the control host has the journal, and this is not the control host."""
        return self.cluster.heal.watch and not self.here

    @property
    def file_on_control(self) -> str:
        """The cluster file of the unit."""
        from clusterwright.heal.loop.here import ON_CONTROL

        return str(ON_CONTROL / "cluster.yaml")

    def folder(self) -> Path:
        """Of the journal."""
        from clusterwright.heal.loop.here import folder_of

        return folder_of(self.cluster, here=self.here)

    def journal(self) -> Journal:
        """The journal of this place."""
        from clusterwright.heal.loop.here import journal_of

        return journal_of(self.folder())

    def loop(self, journal: Journal) -> Loop:
        """Everything joined."""
        from clusterwright.heal.loop.here import loop_of

        return loop_of(self.cluster, str(self.file), self.remote, journal, say)

    def forward(self, *words: str) -> int:
        """The same command where the journal is."""
        from clusterwright.edge.host import as_root
        from clusterwright.edge.processes import stream

        remote, control = way_to(self.cluster), self.cluster.control.name
        there = shlex.join([self.cluster.heal.program, "heal", *words, "--here"])
        return stream(remote.argv(control, as_root(there) if remote.sudo else there))


def _place(file: Path | None, *, here: bool) -> _Place:
    from clusterwright.config.load import load_cluster
    from clusterwright.heal.loop.here import on_control

    found = cluster_file(file)
    cluster = load_cluster(found)
    return _Place(cluster, found, on_control(cluster) if here else way_to(cluster), here)


def _not_off(place: _Place) -> None:
    if place.cluster.heal.mode == "none":
        raise WrightError.of(
            "heal-off",
            f"{place.file} says heal.mode: none",
            "set it to propose, approve or act",
            exit_code=EXIT_USAGE,
        )


def _show_plan(loop: Loop, found: Decision, *, slurm: bool, json: bool) -> None:
    from clusterwright.heal.act import action

    rows = [
        {
            "host": intent.host,
            "action": intent.action,
            "rule": intent.rule,
            "why": intent.why,
            "of": intent.unit or intent.job or intent.spare,
            "cost": action(intent.action).COST,
            "how": _how(loop, intent.action),
            "undo": action(intent.action).UNDO,
        }
        for _, intent in found.intents
    ]
    tells = [{"host": tell.incident.host, "topic": tell.topic, "words": tell.words} for tell in found.tells]
    if json:
        show_json({"schema": SCHEMA, "slurm": slurm, "intents": rows, "tells": tells})
        return
    if not slurm:
        say("slurmctld does not answer: nothing is done until it does")
    if rows:
        columns = ("host", "action", "of", "cost", "rule", "why", "how", "undo")
        show_table(columns, [[row[column] for column in columns] for row in rows])
    for tell in tells:
        show_text(f"a person is told: {tell['words']}")
    if not rows and not tells:
        say("nothing is to be done")


def _how(loop: Loop, name: str) -> str:
    if not loop.policy.may(name):
        return "proposed: not in heal.allow" if loop.policy.mode in ("act", "approve") else "proposed"
    return "once approved" if loop.policy.asks else "done"


def _entry(journal: Journal, id_: int) -> Entry:
    entry = journal.entry(id_)
    if entry is None:
        raise WrightError.of(
            "heal-no-such-id", f"there is no #{id_}", "`wright heal log` lists them", exit_code=EXIT_USAGE
        )
    return entry


def _row(entry: Entry) -> dict[str, Any]:
    from clusterwright.heal.act import action

    intent, how = entry.deed.intent, action(entry.deed.intent.action)
    return {
        "id": entry.deed.id,
        "time": _clock(entry.wall),
        "wall": entry.wall,
        "host": intent.host,
        "action": intent.action,
        "of": intent.unit or intent.job or intent.spare,
        "state": entry.deed.state,
        "rule": intent.rule,
        "why": intent.why,
        "said": entry.said,
        "before": dict(entry.before),
        "undo": f"wright heal undo {entry.deed.id}"
        if entry.deed.state == "done" and hasattr(how, "undo")
        else "",
    }


def _clock(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
