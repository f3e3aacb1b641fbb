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

from clusterwright.cli._connection import cluster_file, connection_to
from clusterwright.cli._show import show_json, show_message, show_table, show_text
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import _

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
Local = Annotated[bool, Parameter(show=False)]  # on the control host itself, as its unit says


@heal.default
def run_once(
    file: Path | None = None, /, *, plan: bool = False, json: bool = False, local: Local = False
) -> int:
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
    return _propose(file, local=local, json=json) if plan else _heal_once(file, local=local, json=json)


@heal.command
def watch(file: Path | None = None, /, *, local: Local = False) -> int:
    """Do so again and again, until it is ended; one loop at a time. A kill at any moment neither repeats nor forgets.

    Parameters
    ----------
    file
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.heal.loop import setup as joined

    target = _target(file, local=local)
    _not_off(target)
    if target.is_remote:
        raise WrightError.from_code(
            "heal-runs-already",
            _(
                "heal.watch of {file} has a unit on {control} do it",
                file=target.file,
                control=target.cluster.control.name,
            ),
            _("see `wright heal log`; take heal.watch out and apply to run it elsewhere"),
            exit_code=EXIT_USAGE,
        )
    with joined.loop_lock(target.folder()):
        loop = target.loop(target.journal())
        show_message(
            _(
                "watching {cluster}, mode {mode}, every {every} s",
                cluster=target.cluster.name,
                mode=loop.policy.mode,
                every=target.cluster.heal.poll_interval,
            )
        )
        joined.watch(loop, target.cluster.heal.poll_interval, time.sleep)
    return EXIT_OK


@heal.command
def approve(id_: int, /, *, cluster: Path | None = None, local: Local = False) -> int:
    """Let a proposed action be done, if it is still wanted at the next look.

    Parameters
    ----------
    id_
        Its number in `wright heal log`.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.heal.loop import setup as joined
    from clusterwright.heal.loop.action_runner import line

    target = _target(cluster, local=local)
    if target.is_remote:
        return target.forward("approve", str(id_), "--cluster", target.file_on_control)
    journal = target.journal()
    entry = _entry(journal, id_)
    if entry.record.state != "proposed":
        raise WrightError.from_code(
            "heal-not-proposed",
            _("#{id} is {state}: only what is proposed can be approved", id=id_, state=entry.record.state),
            _("see `wright heal log`"),
            exit_code=EXIT_USAGE,
        )
    journal.set_state(id_, "approved", joined.moment(), wall=time.time())
    show_message(
        _(
            "#{id} {line}: done at the next look, if it is still wanted",
            id=id_,
            line=line(entry.record.intent),
        )
    )
    return EXIT_OK


@heal.command
def undo(id_: int, /, *, cluster: Path | None = None, local: Local = False) -> int:
    """Take an action back, where that can be done: a drain, a return, a spare, an excluded host.

    Parameters
    ----------
    id_
        Its number in `wright heal log`.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.heal.actions import Order, action
    from clusterwright.heal.loop import setup as joined

    target = _target(cluster, local=local)
    if target.is_remote:
        return target.forward("undo", str(id_), "--cluster", target.file_on_control)
    journal = target.journal()
    entry = _entry(journal, id_)
    how = action(entry.record.intent.action)
    if entry.record.state != "done" or not hasattr(how, "undo"):
        state = entry.record.state if entry.record.state != "done" else "not a thing that can be taken back"
        raise WrightError.from_code(
            "heal-no-undo",
            _(
                "#{id}, {action} of {intent}, is {state}",
                id=id_,
                action=entry.record.intent.action,
                intent=entry.record.intent.host,
                state=state,
            ),
            _("`wright heal log` says what can be undone, and how"),
            exit_code=EXIT_USAGE,
        )
    executor = target.loop(journal).runner.executor
    if error := how.undo(Order(id_, entry.record.intent), executor):
        show_message(_("#{id} is not undone: {error}", id=id_, error=error))
        return EXIT_FAILED
    journal.set_state(id_, "undone", joined.moment(), wall=time.time())
    show_message(_("#{id} is undone; the same is not done again before its pause is over", id=id_))
    return EXIT_OK


@heal.command
def log(*, cluster: Path | None = None, last: int = 50, json: bool = False, local: Local = False) -> int:
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
    target = _target(cluster, local=local)
    if target.is_remote:
        arguments = ("log", "--cluster", target.file_on_control, "--last", str(last))
        return target.forward(*arguments, *(["--json"] if json else []))
    journal = target.journal()
    entries, notifications = journal.entries()[-last:], journal.notifications()[-last:]
    if json:
        show_json({"schema": SCHEMA, "deeds": [_row(entry) for entry in entries], "tells": notifications})
        return EXIT_OK
    rows = [_row(entry) for entry in entries]
    columns = ("id", "time", "host", "action", "state", "rule", "why", "said", "undo")
    show_table(columns, [[str(row[column]) for column in columns] for row in rows])
    for notification in notifications:
        sys.stdout.write(f"{_clock(notification.wall)} told: {notification.words}\n")
    return EXIT_OK


def _propose(file: Path | None, *, local: bool, json: bool) -> int:
    """What would be done if all were still so at the next look; nothing is written."""
    from clusterwright.heal.decide import decide
    from clusterwright.heal.loop import setup as joined

    target = _target(file, local=local)
    if target.is_remote:
        return target.forward(target.file_on_control, "--plan", *(["--json"] if json else []))
    journal = target.journal()
    loop = target.loop(journal)
    past = journal.past(joined.moment(), loop.policy.window_s)
    observation = loop.observe_all()
    first_decision = decide(observation, past, loop.policy, loop.rules)
    confirmed = dataclasses.replace(
        past, witnesses=first_decision.witnesses, incidents=first_decision.incidents
    )
    _show_plan(
        loop, decide(observation, confirmed, loop.policy, loop.rules), slurm=observation.slurm, json=json
    )
    return EXIT_OK if observation.slurm else EXIT_FAILED


def _heal_once(file: Path | None, *, local: bool, json: bool) -> int:
    """Two looks, since what was seen once is not believed; then what they allow."""
    from clusterwright.heal.loop import setup as joined

    target = _target(file, local=local)
    _not_off(target)
    if target.is_remote:
        return target.forward(target.file_on_control, *(["--json"] if json else []))
    with joined.loop_lock(target.folder()):
        journal = target.journal()
        loop = target.loop(journal)
        earlier = len(journal.entries())
        loop.tick()
        loop.tick()
        fresh = journal.entries()[earlier:]
    if json:
        show_json({"schema": SCHEMA, "deeds": [_row(entry) for entry in fresh]})
    elif not fresh:
        show_message(_("nothing was to be done"))
    return EXIT_OK


@dataclasses.dataclass(frozen=True)
class _Target:
    """The cluster, its file, the way to it, and where its journal is."""

    cluster: Cluster
    file: Path
    remote: Remote
    local: bool

    @property
    def is_remote(self) -> bool:
        """True where the unit on the control host has the journal, and this is not the control host."""
        return self.cluster.heal.watch and not self.local

    @property
    def file_on_control(self) -> str:
        """The cluster file of the unit."""
        from clusterwright.heal.loop.setup import ON_CONTROL

        return str(ON_CONTROL / "cluster.yaml")

    def folder(self) -> Path:
        """Of the journal."""
        from clusterwright.heal.loop.setup import folder_of

        return folder_of(self.cluster, is_control=self.local)

    def journal(self) -> Journal:
        """The journal of this place."""
        from clusterwright.heal.loop.setup import journal_of

        return journal_of(self.folder())

    def loop(self, journal: Journal) -> Loop:
        """Everything joined."""
        from clusterwright.heal.loop.setup import loop_of

        return loop_of(self.cluster, str(self.file), self.remote, journal, show_message)

    def forward(self, *arguments: str) -> int:
        """The same command where the journal is."""
        from clusterwright.edge.host import as_root
        from clusterwright.edge.processes import stream

        remote, control = connection_to(self.cluster), self.cluster.control.name
        command_line = shlex.join([self.cluster.heal.program, "heal", *arguments, "--local"])
        return stream(remote.argv(control, as_root(command_line) if remote.sudo else command_line))


def _target(file: Path | None, *, local: bool) -> _Target:
    from clusterwright.config.load import load_cluster
    from clusterwright.heal.loop.setup import on_control

    path = cluster_file(file)
    cluster = load_cluster(path)
    return _Target(cluster, path, on_control(cluster) if local else connection_to(cluster), local)


def _not_off(target: _Target) -> None:
    if target.cluster.heal.mode == "none":
        raise WrightError.from_code(
            "heal-off",
            _("{file} says heal.mode: none", file=target.file),
            _("set it to propose, approve or act"),
            exit_code=EXIT_USAGE,
        )


def _show_plan(loop: Loop, decision: Decision, *, slurm: bool, json: bool) -> None:
    from clusterwright.heal.actions import action

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
        for _ignored, intent in decision.intents
    ]
    notifications = [
        {"host": notification.incident.host, "topic": notification.topic, "words": notification.text}
        for notification in decision.notifications
    ]
    if json:
        show_json({"schema": SCHEMA, "slurm": slurm, "intents": rows, "tells": notifications})
        return
    if not slurm:
        show_message(_("slurmctld does not answer: nothing is done until it does"))
    if rows:
        columns = ("host", "action", "of", "cost", "rule", "why", "how", "undo")
        show_table(columns, [[row[column] for column in columns] for row in rows])
    for notification in notifications:
        show_text(_("a person is told: {notification}", notification=notification["words"]))
    if not rows and not notifications:
        show_message(_("nothing is to be done"))


def _how(loop: Loop, name: str) -> str:
    if not loop.policy.may(name):
        return "proposed: not in heal.allow" if loop.policy.mode in ("act", "approve") else "proposed"
    return "once approved" if loop.policy.needs_approval else "done"


def _entry(journal: Journal, id_: int) -> Entry:
    entry = journal.entry(id_)
    if entry is None:
        raise WrightError.from_code(
            "heal-no-such-id",
            _("there is no #{id}", id=id_),
            _("`wright heal log` lists them"),
            exit_code=EXIT_USAGE,
        )
    return entry


def _row(entry: Entry) -> dict[str, Any]:
    from clusterwright.heal.actions import action

    intent, how = entry.record.intent, action(entry.record.intent.action)
    return {
        "id": entry.record.id,
        "time": _clock(entry.wall),
        "wall": entry.wall,
        "host": intent.host,
        "action": intent.action,
        "of": intent.unit or intent.job or intent.spare,
        "state": entry.record.state,
        "rule": intent.rule,
        "why": intent.why,
        "said": entry.said,
        "before": dict(entry.before),
        "undo": f"wright heal undo {entry.record.id}"
        if entry.record.state == "done" and hasattr(how, "undo")
        else "",
    }


def _clock(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
