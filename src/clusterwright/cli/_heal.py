"""What `wright heal` does: here, or on the control host where its unit runs there."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clusterwright.cli._show import say, show_json, show_table, show_text
from clusterwright.cli._there import cluster_file, way_to
from clusterwright.config.cluster import Cluster
from clusterwright.config.load import load_cluster
from clusterwright.edge.host import as_root
from clusterwright.edge.ssh import Remote
from clusterwright.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, WrightError
from clusterwright.heal.act import Order, action
from clusterwright.heal.decide import Decision, decide
from clusterwright.heal.journal import Entry, Journal
from clusterwright.heal.loop import here as joined
from clusterwright.heal.loop.deeds import line
from clusterwright.heal.loop.loop import Loop

SCHEMA = 1


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

    def folder(self) -> Path:
        """Of the journal."""
        return joined.folder_of(self.cluster, here=self.here)

    def loop(self, journal: Journal) -> Loop:
        """Everything joined."""
        return joined.loop_of(self.cluster, str(self.file), self.remote, journal, say)

    def forward(self, *words: str) -> int:
        """The same command where the journal is."""
        from clusterwright.edge.processes import stream

        remote, control = way_to(self.cluster), self.cluster.control.name
        there = shlex.join([self.cluster.heal.program, "heal", *words, "--here"])
        return stream(remote.argv(control, as_root(there) if remote.sudo else there))


def _place(file: Path | None, *, here: bool) -> _Place:
    found = cluster_file(file)
    cluster = load_cluster(found)
    return _Place(cluster, found, joined.on_control(cluster) if here else way_to(cluster), here)


def _not_off(place: _Place) -> None:
    if place.cluster.heal.mode == "none":
        raise WrightError.of(
            "heal-off",
            f"{place.file} says heal.mode: none",
            "set it to propose, approve or act",
            exit_code=EXIT_USAGE,
        )


def plan(file: Path | None, *, here: bool, json: bool) -> int:
    """What would be done if all were still so at the next look; nothing is written."""
    place = _place(file, here=here)
    if place.far:
        return place.forward(str(joined.ON_CONTROL / "cluster.yaml"), "--plan", *(["--json"] if json else []))
    journal = joined.journal_of(place.folder())
    loop = place.loop(journal)
    past = journal.past(joined.moment(), loop.policy.window_s)
    seen = loop.look_at_all()
    first = decide(seen, past, loop.policy, loop.rules)
    again = dataclasses.replace(past, witnesses=first.witnesses, incidents=first.incidents)
    _show_plan(loop, decide(seen, again, loop.policy, loop.rules), slurm=seen.slurm, json=json)
    return EXIT_DONE if seen.slurm else EXIT_FAILED


def _show_plan(loop: Loop, found: Decision, *, slurm: bool, json: bool) -> None:
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


def once(file: Path | None, *, here: bool, json: bool) -> int:
    """Two looks, since what was seen once is not believed; then what they allow."""
    place = _place(file, here=here)
    _not_off(place)
    if place.far:
        return place.forward(str(joined.ON_CONTROL / "cluster.yaml"), *(["--json"] if json else []))
    with joined.alone(place.folder()):
        journal = joined.journal_of(place.folder())
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


def watch(file: Path | None, *, here: bool) -> int:
    """Until it is ended; not beside the unit, whose journal it would not know."""
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
        loop = place.loop(joined.journal_of(place.folder()))
        say(f"watching {place.cluster.name}, mode {loop.policy.mode}, every {place.cluster.heal.every} s")
        joined.watch(loop, place.cluster.heal.every, time.sleep)
    return EXIT_DONE


def approve(id_: int, file: Path | None, *, here: bool) -> int:
    """It may be done."""
    place = _place(file, here=here)
    if place.far:
        return place.forward("approve", str(id_), "--cluster", str(joined.ON_CONTROL / "cluster.yaml"))
    journal = joined.journal_of(place.folder())
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


def undo(id_: int, file: Path | None, *, here: bool) -> int:
    """Taken back."""
    place = _place(file, here=here)
    if place.far:
        return place.forward("undo", str(id_), "--cluster", str(joined.ON_CONTROL / "cluster.yaml"))
    journal = joined.journal_of(place.folder())
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


def _entry(journal: Journal, id_: int) -> Entry:
    entry = journal.entry(id_)
    if entry is None:
        raise WrightError.of(
            "heal-no-such-id", f"there is no #{id_}", "`wright heal log` lists them", exit_code=EXIT_USAGE
        )
    return entry


def log(file: Path | None, *, last: int, here: bool, json: bool) -> int:
    """The journal."""
    place = _place(file, here=here)
    if place.far:
        words = ("log", "--cluster", str(joined.ON_CONTROL / "cluster.yaml"), "--last", str(last))
        return place.forward(*words, *(["--json"] if json else []))
    journal = joined.journal_of(place.folder())
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


def _row(entry: Entry) -> dict[str, Any]:
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
