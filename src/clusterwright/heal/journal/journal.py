"""The journal: SQLite in WAL mode; an intent is recorded before its action and its result after it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from clusterwright.edge.sqlite_files import connect, epoch_seconds, refuse_other_tables
from clusterwright.errors import WrightError
from clusterwright.heal.decide import Decision
from clusterwright.heal.moment import Moment
from clusterwright.heal.past import ActionRecord, Incident, Intent, Past, State, Witness
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS

SCHEMA = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS incidents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, rule TEXT NOT NULL, boot TEXT NOT NULL, s REAL NOT NULL,
  healthy_polls INTEGER NOT NULL, notified_topics TEXT NOT NULL, open INTEGER NOT NULL, wall REAL NOT NULL);
CREATE TABLE IF NOT EXISTS actions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, host TEXT NOT NULL, rule TEXT NOT NULL,
  action TEXT NOT NULL, unit TEXT NOT NULL, job TEXT NOT NULL, spare TEXT NOT NULL, reason TEXT NOT NULL,
  prior_state TEXT NOT NULL, state TEXT NOT NULL, boot TEXT NOT NULL, s REAL NOT NULL, ended_boot TEXT, ended_s REAL,
  wall REAL NOT NULL, ended_wall REAL, error TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS actions_by_state ON actions (state, boot, s);
CREATE TABLE IF NOT EXISTS witnesses (
  host TEXT NOT NULL, rule TEXT NOT NULL, source TEXT NOT NULL, key TEXT NOT NULL, count INTEGER NOT NULL,
  boot TEXT NOT NULL, s REAL NOT NULL, PRIMARY KEY (host, rule, source, key));
CREATE TABLE IF NOT EXISTS jobs (job TEXT PRIMARY KEY, wall REAL NOT NULL);
CREATE TABLE IF NOT EXISTS notifications (
  id INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, host TEXT NOT NULL, rule TEXT NOT NULL,
  topic TEXT NOT NULL, text TEXT NOT NULL, wall REAL NOT NULL, sent INTEGER NOT NULL,
  UNIQUE (incident, host, topic));
"""
_INSERT_NOTIFICATION = (
    "INSERT OR IGNORE INTO notifications (incident, host, rule, topic, text, wall, sent)"
    " VALUES (?, ?, ?, ?, ?, ?, 0)"
)
_ENDED = frozenset({"done", "failed", "lost", "stale", "undone"})
_ACTION_COLUMNS = (
    "id, incident, host, rule, action, unit, job, spare, reason, prior_state, "
    "state, boot, s, ended_boot, ended_s, error, wall"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An action in the journal, with the prior state that was saved and its error."""

    record: ActionRecord
    prior_state: Mapping[str, str]
    error: str
    wall: float


@dataclass(frozen=True, slots=True)
class StoredNotification:
    """A notification in the journal; `sent` is 1 once it was delivered."""

    id: int
    incident: int
    host: str
    rule: str
    topic: str
    text: str
    wall: float
    sent: int


class Journal:
    """The journal file; every method is one transaction.

    A damaged file is not replaced: the limits of the policy count the actions in it.

    Raises:
        WrightError: the file is damaged, or a newer version wrote it.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._db = connect(path, timeout=30, isolation_level=None)
        except sqlite3.OperationalError:
            raise  # the folder is missing, or the like
        except sqlite3.DatabaseError as error:
            raise _damaged(path, str(error)) from error
        self._db.text_factory = lambda data: data.decode("utf-8", "replace")
        self._path = path
        self._witnesses: frozenset[Witness] | None = None
        try:
            self._open(path)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # sqlite3 also decodes its messages
            self._db.close()
            if (
                isinstance(error, sqlite3.OperationalError)
                and error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_ERROR
            ):
                raise  # locked, or the disk is full
            raise _damaged(path, str(error)) from error
        except WrightError:
            self._db.close()
            raise

    def _open(self, path: Path) -> None:
        schema = self._db.execute("PRAGMA user_version").fetchone()[0]
        if schema > SCHEMA:
            raise WrightError.from_code(
                "state-newer",
                _(
                    "{path} has schema {schema}; this version reads {supported}",
                    path=path,
                    schema=schema,
                    supported=SCHEMA,
                ),
                _("use the version of clusterwright that wrote the file"),
            )
        refuse_other_tables(self._db, _TABLES)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(_TABLES)
        self._db.execute(f"PRAGMA user_version={SCHEMA}")

    def close(self) -> None:
        """Close the journal's database file."""
        self._db.close()

    def past(self, now: Moment, window_s: float) -> Past:
        """Return the open incidents and the evidence, with three sorts of actions.

        These are the actions of the last `window_s` seconds, of open incidents, and those that have not ended.

        Raises:
            WrightError: a row is damaged.
        """
        rows = self._db.execute(
            "SELECT id, host, rule, boot, s, healthy_polls, notified_topics FROM incidents WHERE open = 1 ORDER BY id"
        )
        with self._reading():
            incidents = tuple(
                Incident(
                    id_, host, rule, Moment(boot, s), healthy_polls, frozenset(map(str, json.loads(topics)))
                )
                for id_, host, rule, boot, s, healthy_polls, topics in rows
            )
        entries = self._entries(
            "WHERE boot != ? OR s >= ? OR state IN ('proposed', 'approved', 'begun', 'acted') OR incident IN "
            "(SELECT id FROM incidents WHERE open = 1)",
            (now.boot, now.s - window_s),
        )
        actions = tuple(entry.record for entry in entries if _counts(entry.record, incidents, now, window_s))
        return Past(incidents, actions, tuple(self._read_witnesses()))

    def _read_witnesses(self) -> Iterable[Witness]:
        rows = self._db.execute("SELECT host, rule, source, key, count, boot, s FROM witnesses")
        witnesses = [
            Witness(host, rule, source, key, count, Moment(boot, s))
            for host, rule, source, key, count, boot, s in rows
        ]
        self._witnesses = frozenset(witnesses)
        return witnesses

    def record_poll(self, decision: Decision, jobs: Iterable[str], wall: float) -> dict[tuple[str, str], int]:
        """Record a poll in one transaction: incidents, witnesses and unsent notifications; close resolved incidents.

        Return the ids of open incidents by host and rule. `jobs` are the failed jobs that were diagnosed; they are not
        diagnosed again. `wall`: epoch seconds.
        """
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            ids = {
                (incident.host, incident.rule): self._save_incident(incident, wall)
                for incident in decision.incidents
            }
            closed = [(incident.id,) for incident in decision.closed if incident.id]
            self._db.executemany("UPDATE incidents SET open = 0 WHERE id = ?", closed)
            self._save_witnesses(frozenset(decision.witnesses))
            self._db.executemany("INSERT OR IGNORE INTO jobs VALUES (?, ?)", [(job, wall) for job in jobs])
            for notification in decision.notifications:
                incident = notification.incident
                id_ = incident.id or ids.get((incident.host, incident.rule), 0)
                self._db.execute(
                    _INSERT_NOTIFICATION,
                    (id_, incident.host, incident.rule, notification.topic, notification.text, wall),
                )
        return ids

    def _save_incident(self, incident: Incident, wall: float) -> int:
        topics = json.dumps(sorted(incident.notified_topics))
        if incident.id:
            self._db.execute(
                "UPDATE incidents SET healthy_polls = ?, notified_topics = ? WHERE id = ?",
                (incident.healthy_polls, topics, incident.id),
            )
            return incident.id
        opened = incident.opened
        row = (incident.host, incident.rule, opened.boot, opened.s, incident.healthy_polls, topics, wall)
        cursor = self._db.execute(
            "INSERT INTO incidents (host, rule, boot, s, healthy_polls, notified_topics, open, wall)"
            " VALUES (?, ?, ?, ?, ?, ?, 1, ?)",
            row,
        )
        return int(cursor.lastrowid or 0)

    def _save_witnesses(self, witnesses: frozenset[Witness]) -> None:
        previous = self._witnesses if self._witnesses is not None else frozenset(self._read_witnesses())
        removed = {(witness.host, witness.rule, witness.source, witness.key) for witness in previous} - {
            (witness.host, witness.rule, witness.source, witness.key) for witness in witnesses
        }
        self._db.executemany("DELETE FROM witnesses WHERE host=? AND rule=? AND source=? AND key=?", removed)
        self._db.executemany(
            "INSERT OR REPLACE INTO witnesses VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (item.host, item.rule, item.source, item.key, item.count, item.time.boot, item.time.s)
                for item in witnesses - previous
            ],
        )
        self._witnesses = witnesses

    def write(
        self,
        incident: int,
        intent: Intent,
        state: State,
        moment: Moment,
        *,
        wall: float,
        prior: Mapping[str, str],
    ) -> int:
        """Write an intent to the journal in `state`, before its action begins, and return its id.

        `wall` is the time of day; `prior` is what `prepare` returned.
        """
        row = (
            incident, intent.host, intent.rule, intent.action, intent.unit, intent.job, intent.spare, intent.reason,
            json.dumps(dict(prior)), state, moment.boot, moment.s, wall, "",
        )  # fmt: skip
        with self._db:
            cursor = self._db.execute(
                "INSERT INTO actions (incident, host, rule, action, unit, job, spare, reason, prior_state, state, boot,"
                " s, wall, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        return int(cursor.lastrowid or 0)

    def begin(self, action_id: int, moment: Moment, wall: float, prior: Mapping[str, str]) -> None:
        """Mark a recorded action as begun at this time, with the state (`prior`) that was read before it."""
        with self._db:
            self._db.execute(
                "UPDATE actions SET state = 'begun', boot = ?, s = ?, wall = ?, prior_state = ? WHERE id = ?",
                (moment.boot, moment.s, wall, json.dumps(dict(prior)), action_id),
            )

    def set_state(
        self, action_id: int, state: State, moment: Moment, *, wall: float, error: str = ""
    ) -> None:
        """Set the state and error of an action in the journal.

        `moment` and `wall` are stored as its end if the state is final.
        """
        end = (moment.boot, moment.s, wall) if state in _ENDED else (None, None, None)
        with self._db:
            self._db.execute(
                "UPDATE actions SET state = ?, ended_boot = ?, ended_s = ?, ended_wall = ?, error = ? WHERE id = ?",
                (state, *end, error, action_id),
            )

    def entries(self, *states: State) -> tuple[Entry, ...]:
        """Return the actions in these states, oldest first; every action if no state is given."""
        if not states:
            return self._entries("", ())
        return self._entries(f"WHERE state IN ({', '.join('?' * len(states))})", states)

    def entry(self, action_id: int) -> Entry | None:
        """Return the action with this id; None if there is none."""
        return next(iter(self._entries("WHERE id = ?", (action_id,))), None)

    def _entries(self, condition: str, values: tuple[object, ...]) -> tuple[Entry, ...]:
        rows = self._db.execute(f"SELECT {_ACTION_COLUMNS} FROM actions {condition} ORDER BY id", values)  # nosec B608 # noqa: S608 (constants)
        with self._reading():
            return tuple(_entry(row) for row in rows)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Convert an error in evaluating rows in a `with` block to a WrightError that names the damaged file."""
        try:
            yield
        except DATA_ERRORS as error:
            raise _damaged(self._path, repr(error)) from error

    def notifications(self, *, unsent: bool = False) -> tuple[StoredNotification, ...]:
        """Return all notifications, oldest first; with `unsent` only those that were not sent."""
        condition = "WHERE sent = 0" if unsent else ""
        rows = self._db.execute(
            f"SELECT id, incident, host, rule, topic, text, wall, sent FROM notifications {condition} ORDER BY id"  # nosec B608 # noqa: S608 (constants)
        )
        return tuple(StoredNotification(*row) for row in rows)

    def confirm_sent(self, notification_id: int) -> None:
        """Mark a notification as sent, so that it is not sent again."""
        with self._db:
            self._db.execute("UPDATE notifications SET sent = 1 WHERE id = ?", (notification_id,))

    def new_jobs(self, jobs: Iterable[str]) -> tuple[str, ...]:
        """Return those of the failed jobs that were not diagnosed yet."""
        query = "SELECT 1 FROM jobs WHERE job = ?"  # not all of them: they accumulate
        return tuple(job for job in jobs if self._db.execute(query, (job,)).fetchone() is None)


def _damaged(path: Path, reason: str) -> WrightError:
    return WrightError.from_code(
        "state-damaged",
        _("{path} is damaged: {reason}", path=path, reason=reason),
        _(
            "see which hosts are drained, then rename the file: mv {path} {path}.damaged; "
            "heal then starts with no history",
            path=path,
        ),
    )


def _counts(record: ActionRecord, incidents: Iterable[Incident], now: Moment, window_s: float) -> bool:
    opened = {incident.id for incident in incidents}
    alive = record.state in {"proposed", "approved", "begun", "acted"}
    return alive or record.incident in opened or now.seconds_since(record.time) < window_s


def _entry(row: tuple[object, ...]) -> Entry:
    (
        id_,
        incident,
        host,
        rule,
        action,
        unit,
        job,
        spare,
        reason,
        prior,
        state,
        boot,
        s,
        e_boot,
        e_s,
        error,
        wall,
    ) = row
    intent = Intent(str(host), str(rule), str(action), str(reason), str(unit), str(job), str(spare))
    ended = None if e_boot is None else Moment(str(e_boot), float(str(e_s)))
    begun = Moment(str(boot), float(str(s)))
    record = ActionRecord(int(str(id_)), int(str(incident)), intent, cast("State", state), begun, ended)
    prior_state = {name: str(value) for name, value in json.loads(str(prior)).items()}
    return Entry(record, prior_state, str(error), epoch_seconds(float(str(wall))))
