"""`wright heal`, `wright heal watch|approve|undo|log`: here, or on the control host that runs heal."""

from __future__ import annotations

import dataclasses
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from clusterwright.cli._connection import cluster_file, connection_to
from clusterwright.cli._numbers import Count
from clusterwright.cli._show import show_error, show_json, show_message, show_records, show_text
from clusterwright.cli._started_lab import require_lab
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import N_, _
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.heal.decide import Decision
    from clusterwright.heal.journal import Entry, Journal
    from clusterwright.heal.loop.loop import Loop

SCHEMA = 1

heal = App(
    name="heal",
    help="Repair hosts automatically, as the cluster file allows: drain, restart, reset, reboot, replace, resume.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
Id = Annotated[Count, Parameter(name="ID")]
Local = Annotated[bool, Parameter(show=False)]  # set by the unit on the control host


@heal.default
def run_once(
    *, cluster: Path | None = None, plan: bool = False, json: bool = False, local: Local = False
) -> int:
    """Diagnose the cluster once and take the actions that `heal` in the cluster file allows; propose the others.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    plan
        Only show the actions and their reasons.
    json
        Print one JSON document on stdout.
    """
    return _propose(cluster, local=local, json=json) if plan else _heal_once(cluster, local=local, json=json)


@heal.command
def watch(*, cluster: Path | None = None, local: Local = False) -> int:
    """Heal the cluster continuously until stopped; only one process at a time. It may be killed at any time.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    """
    from clusterwright.heal.loop import setup as joined

    target = _target(cluster, local=local)
    _not_off(target)
    if target.is_remote:
        raise WrightError.from_code(
            "heal-runs-already",
            _(
                "{file} sets heal.watch: a unit on {host} heals the cluster already",
                file=target.file,
                host=target.cluster.control.name,
            ),
            _("see `wright heal log`; to run it elsewhere, remove heal.watch and run wright apply"),
            exit_code=EXIT_USAGE,
        )
    with joined.loop_lock(target.folder()):
        loop = target.loop(target.journal())
        show_message(
            _(
                "watching {cluster}: mode {mode}, poll interval {interval}",
                cluster=target.cluster.name,
                mode=loop.policy.mode,
                interval=human_duration(target.cluster.heal.poll_interval),
            )
        )
        joined.watch(loop, target.cluster.heal.poll_interval, time.sleep)
    return EXIT_OK


@heal.command
def approve(id_: Id, /, *, cluster: Path | None = None, local: Local = False) -> int:
    """Approve a proposed action; it runs at the next poll if it is still needed.

    Parameters
    ----------
    id_
        Number of the action in `wright heal log`.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
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
            _("#{id} is {state}: only proposed actions can be approved", id=id_, state=entry.record.state),
            _("see `wright heal log`"),
            exit_code=EXIT_USAGE,
        )
    journal.set_state(id_, "approved", joined.moment(), wall=time.time())
    show_message(
        _(
            "#{id} {action}: approved; it runs at the next poll if it is still needed",
            id=id_,
            action=line(entry.record.intent),
        )
    )
    return EXIT_OK


@heal.command
def undo(id_: Id, /, *, cluster: Path | None = None, local: Local = False) -> int:
    """Undo an action that can be undone: drain, return, replace, exclude.

    Parameters
    ----------
    id_
        Number of the action in `wright heal log`.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    """
    from clusterwright.heal.actions import ActionOrder, action
    from clusterwright.heal.loop import setup as joined

    target = _target(cluster, local=local)
    if target.is_remote:
        return target.forward("undo", str(id_), "--cluster", target.file_on_control)
    journal = target.journal()
    entry = _entry(journal, id_)
    how = action(entry.record.intent.action)
    if entry.record.state != "done" or not hasattr(how, "undo"):
        intent, state = entry.record.intent, entry.record.state
        raise WrightError.from_code(
            "heal-no-undo",
            _("{action} cannot be undone (#{id} on {host})", action=intent.action, id=id_, host=intent.host)
            if state == "done"
            else _(
                "#{id} ({action} on {host}) is {state}",
                id=id_,
                action=intent.action,
                host=intent.host,
                state=state,
            ),
            _("see `wright heal log` for the actions that can be undone"),
            exit_code=EXIT_USAGE,
        )
    executor = target.loop(journal).runner.executor
    if error := how.undo(ActionOrder(id_, entry.record.intent), executor):
        show_error(_("cannot undo #{id}: {error}", id=id_, error=error))
        return EXIT_FAILED
    journal.set_state(id_, "undone", joined.moment(), wall=time.time())
    show_message(_("#{id} is undone; heal repeats this action only after its pause", id=id_))
    return EXIT_OK


@heal.command
def log(*, cluster: Path | None = None, last: Count = 50, json: bool = False, local: Local = False) -> int:
    """List actions, proposals and notifications, each with its evidence and how to undo it.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    last
        Number of newest entries.
    json
        Print one JSON document on stdout.
    """
    target = _target(cluster, local=local)
    if target.is_remote:
        arguments = ("log", "--cluster", target.file_on_control, "--last", str(last))
        return target.forward(*arguments, *(["--json"] if json else []))
    journal = target.journal()
    entries, notifications = journal.entries()[-last:], journal.notifications()[-last:]
    if json:
        show_json(
            {"schema": SCHEMA, "actions": [_row(entry) for entry in entries], "notifications": notifications}
        )
        return EXIT_OK
    rows = [_row(entry) for entry in entries]
    show_records(("id", "time", "host", "action", "state", "rule", "reason", "error", "undo"), rows)
    for notification in notifications:
        show_text(_("{time} notified: {text}", time=_clock(notification.wall), text=notification.text))
    return EXIT_OK


def _propose(file: Path | None, *, local: bool, json: bool) -> int:
    """Print the actions of the next poll if it observes equal faults; return EXIT_FAILED if Slurm does not respond."""
    from clusterwright.heal.decide import decide
    from clusterwright.heal.loop import setup as joined

    target = _target(file, local=local)
    if target.is_remote:
        return target.forward("--cluster", target.file_on_control, "--plan", *(["--json"] if json else []))
    journal = target.journal()
    loop = target.loop(journal)
    past = journal.past(joined.moment(), loop.policy.window_s)
    observation = loop.observe_all()
    if not (observation.slurm or json or local):
        require_lab(target.cluster)
    first = decide(observation, past, loop.policy, loop.rules)
    confirmed = dataclasses.replace(past, witnesses=first.witnesses, incidents=first.incidents)
    second = decide(observation, confirmed, loop.policy, loop.rules)
    notifications = (*first.notifications, *second.notifications)  # none is repeated in the second
    decision = dataclasses.replace(second, notifications=notifications)
    _show_plan(loop, decision, slurm=observation.slurm, json=json)
    return EXIT_OK if observation.slurm else EXIT_FAILED


def _heal_once(file: Path | None, *, local: bool, json: bool) -> int:
    """Poll twice, because one poll does not confirm a fault, and run the allowed actions; return EXIT_OK."""
    from clusterwright.heal.loop import setup as joined

    target = _target(file, local=local)
    _not_off(target)
    if target.is_remote:
        return target.forward("--cluster", target.file_on_control, *(["--json"] if json else []))
    with joined.loop_lock(target.folder()):
        journal = target.journal()
        loop = target.loop(journal)
        earlier = len(journal.entries())
        loop.tick()
        loop.tick()
        fresh = journal.entries()[earlier:]
    if json:
        show_json({"schema": SCHEMA, "actions": [_row(entry) for entry in fresh]})
    elif not fresh:
        show_message(_("no action was needed"))
    return EXIT_OK


@dataclasses.dataclass(frozen=True)
class _Target:
    """The cluster, its file, the connection to its hosts, and the location of the journal."""

    cluster: Cluster
    file: Path
    remote: Remote
    local: bool

    @property
    def is_remote(self) -> bool:
        """Return True if the unit on the control host owns the journal of heal and this is another machine."""
        return self.cluster.heal.watch and not self.local

    @property
    def file_on_control(self) -> str:
        """Return the path of the unit's cluster file on the control host."""
        from clusterwright.heal.loop.setup import ON_CONTROL

        return str(ON_CONTROL / "cluster.yaml")

    def folder(self) -> Path:
        """Return the folder of heal's journal for this cluster."""
        from clusterwright.heal.loop.setup import folder_of

        return folder_of(self.cluster, is_control=self.local)

    def journal(self) -> Journal:
        """Return the journal of self-healing of this cluster, opened."""
        from clusterwright.heal.loop.setup import journal_of

        return journal_of(self.folder())

    def loop(self, journal: Journal) -> Loop:
        """Return the loop of heal for this cluster, with its journal."""
        from clusterwright.heal.loop.setup import loop_of

        return loop_of(self.cluster, str(self.file), self.remote, journal, show_message)

    def forward(self, *arguments: str) -> int:
        """Run `wright heal` with these arguments on the control host; return its exit code."""
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
            _("{file} sets heal.mode: none", file=target.file),
            _("set heal.mode to propose, approve or act"),
            exit_code=EXIT_USAGE,
        )


def _show_plan(loop: Loop, decision: Decision, *, slurm: bool, json: bool) -> None:
    from clusterwright.heal.actions import action

    rows = [
        {
            "host": intent.host,
            "action": intent.action,
            "rule": intent.rule,
            "reason": intent.reason,
            "of": intent.unit or intent.job or intent.spare,
            "cost": action(intent.action).COST,
            "how": _how(loop, intent.action),
            "undo": action(intent.action).UNDO,
        }
        for _ignored, intent in decision.intents
    ]
    notifications = [
        {"host": notification.incident.host, "topic": notification.topic, "text": notification.text}
        for notification in decision.notifications
    ]
    if json:
        show_json({"schema": SCHEMA, "slurm": slurm, "intents": rows, "notifications": notifications})
        return
    if not slurm:
        show_message(_("slurmctld does not respond: no action runs until it responds"))
    if rows:
        records = [{**row, "how": _(str(row["how"]))} for row in rows]
        show_records(("host", "action", "of", "cost", "rule", "reason", "how", "undo"), records)
    for notification in notifications:
        show_text(_("notification: {text}", text=notification["text"]))
    if not rows and not notifications:
        show_message(_("no action is needed"))


def _how(loop: Loop, name: str) -> str:
    if not loop.policy.may(name):
        is_acting = loop.policy.mode in ("act", "approve")
        return N_("proposed: not in heal.allow") if is_acting else N_("proposed")
    return N_("after approval") if loop.policy.needs_approval else N_("automatic")


def _entry(journal: Journal, id_: int) -> Entry:
    entry = journal.entry(id_)
    if entry is None:
        raise WrightError.from_code(
            "heal-no-such-id",
            _("the journal has no action #{id}", id=id_),
            _("see `wright heal log` for the numbers"),
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
        "reason": intent.reason,
        "error": entry.error,
        "prior_state": dict(entry.prior_state),
        "undo": f"wright heal undo {entry.record.id}"
        if entry.record.state == "done" and hasattr(how, "undo")
        else "",
    }


def _clock(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
