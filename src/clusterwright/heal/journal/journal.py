"""The journal: SQLite in WAL, an intent written before its act and its end after it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.heal.decide import Decision
from clusterwright.heal.moment import Moment
from clusterwright.heal.past import Deed, Incident, Intent, Past, State, Witness

SCHEMA = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS incidents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, rule TEXT NOT NULL, boot TEXT NOT NULL, s REAL NOT NULL,
  good INTEGER NOT NULL, told TEXT NOT NULL, open INTEGER NOT NULL, wall REAL NOT NULL);
CREATE TABLE IF NOT EXISTS deeds (
  id INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, host TEXT NOT NULL, rule TEXT NOT NULL,
  action TEXT NOT NULL, unit TEXT NOT NULL, job TEXT NOT NULL, spare TEXT NOT NULL, why TEXT NOT NULL,
  before TEXT NOT NULL, state TEXT NOT NULL, boot TEXT NOT NULL, s REAL NOT NULL, ended_boot TEXT, ended_s REAL,
  wall REAL NOT NULL, ended_wall REAL, said TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS deeds_by_state ON deeds (state, boot, s);
CREATE TABLE IF NOT EXISTS witnesses (
  host TEXT NOT NULL, rule TEXT NOT NULL, source TEXT NOT NULL, key TEXT NOT NULL, count INTEGER NOT NULL,
  boot TEXT NOT NULL, s REAL NOT NULL, PRIMARY KEY (host, rule, source, key));
CREATE TABLE IF NOT EXISTS jobs (job TEXT PRIMARY KEY, wall REAL NOT NULL);
CREATE TABLE IF NOT EXISTS tells (
  id INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, host TEXT NOT NULL, rule TEXT NOT NULL,
  topic TEXT NOT NULL, words TEXT NOT NULL, wall REAL NOT NULL, sent INTEGER NOT NULL,
  UNIQUE (incident, host, topic));
"""
_TELL = "INSERT OR IGNORE INTO tells (incident, host, rule, topic, words, wall, sent) VALUES (?, ?, ?, ?, ?, ?, 0)"
_ENDED = frozenset({"done", "failed", "lost", "stale", "undone"})
_DEED = (
    "id, incident, host, rule, action, unit, job, spare, why, before, "
    "state, boot, s, ended_boot, ended_s, said, wall"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A deed with all that is written of it: what was there before it, and what was said at its end."""

    deed: Deed
    before: Mapping[str, str]
    said: str
    wall: float


@dataclass(frozen=True, slots=True)
class Telling:
    """What a person is to be told; `sent` once it has been."""

    id: int
    incident: int
    host: str
    rule: str
    topic: str
    words: str
    wall: float
    sent: int


class Journal:
    """One file; every method is one transaction."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(_TABLES)
        self._db.execute(f"PRAGMA user_version={SCHEMA}")
        self._witnesses: frozenset[Witness] | None = None

    def close(self) -> None:
        """The file is left as it is."""
        self._db.close()

    def past(self, now: Moment, window_s: float) -> Past:
        """What still counts: open incidents, deeds within the window and those that belong to an open incident."""
        rows = self._db.execute(
            "SELECT id, host, rule, boot, s, good, told FROM incidents WHERE open = 1 ORDER BY id"
        )
        incidents = tuple(
            Incident(id_, host, rule, Moment(boot, s), good, frozenset(json.loads(told)))
            for id_, host, rule, boot, s, good, told in rows
        )
        entries = self._entries(
            "WHERE boot != ? OR s >= ? OR state IN ('proposed', 'approved', 'begun', 'acted') OR incident IN "
            "(SELECT id FROM incidents WHERE open = 1)",
            (now.boot, now.s - window_s),
        )
        deeds = tuple(entry.deed for entry in entries if _counts(entry.deed, incidents, now, window_s))
        return Past(incidents, deeds, tuple(self._told()))

    def _told(self) -> Iterable[Witness]:
        rows = self._db.execute("SELECT host, rule, source, key, count, boot, s FROM witnesses")
        found = [
            Witness(host, rule, source, key, count, Moment(boot, s))
            for host, rule, source, key, count, boot, s in rows
        ]
        self._witnesses = frozenset(found)
        return found

    def look(self, found: Decision, jobs: Iterable[str], wall: float) -> dict[tuple[str, str], int]:
        """What a look has found is written, all or nothing; the ids of open incidents by host and rule.

        `jobs` are those whose end was looked into: they are witnesses now, and are not asked again.
        """
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            ids = {(one.host, one.rule): self._put(one, wall) for one in found.incidents}
            closed = [(one.id,) for one in found.closed if one.id]
            self._db.executemany("UPDATE incidents SET open = 0 WHERE id = ?", closed)
            self._put_witnesses(frozenset(found.witnesses))
            self._db.executemany("INSERT OR IGNORE INTO jobs VALUES (?, ?)", [(job, wall) for job in jobs])
            for tell in found.tells:
                one = tell.incident
                id_ = one.id or ids.get((one.host, one.rule), 0)
                self._db.execute(_TELL, (id_, one.host, one.rule, tell.topic, tell.words, wall))
        return ids

    def _put(self, one: Incident, wall: float) -> int:
        told = json.dumps(sorted(one.told))
        if one.id:
            self._db.execute("UPDATE incidents SET good = ?, told = ? WHERE id = ?", (one.good, told, one.id))
            return one.id
        row = (one.host, one.rule, one.opened.boot, one.opened.s, one.good, told, wall)
        cursor = self._db.execute(
            "INSERT INTO incidents (host, rule, boot, s, good, told, open, wall) VALUES (?, ?, ?, ?, ?, ?, 1, ?)",
            row,
        )
        return int(cursor.lastrowid or 0)

    def _put_witnesses(self, told: frozenset[Witness]) -> None:
        before = self._witnesses if self._witnesses is not None else frozenset(self._told())
        gone = {(one.host, one.rule, one.source, one.key) for one in before} - {
            (one.host, one.rule, one.source, one.key) for one in told
        }
        self._db.executemany("DELETE FROM witnesses WHERE host=? AND rule=? AND source=? AND key=?", gone)
        self._db.executemany(
            "INSERT OR REPLACE INTO witnesses VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (one.host, one.rule, one.source, one.key, one.count, one.at.boot, one.at.s)
                for one in told - before
            ],
        )
        self._witnesses = told

    def write(
        self,
        incident: int,
        intent: Intent,
        state: State,
        at: Moment,
        *,
        wall: float,
        before: Mapping[str, str],
    ) -> int:
        """An intent, before anything is done; its id."""
        row = (
            incident, intent.host, intent.rule, intent.action, intent.unit, intent.job, intent.spare, intent.why,
            json.dumps(dict(before)), state, at.boot, at.s, wall, "",
        )  # fmt: skip
        with self._db:
            cursor = self._db.execute(
                "INSERT INTO deeds (incident, host, rule, action, unit, job, spare, why, before, state, boot, s,"
                " wall, said) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        return int(cursor.lastrowid or 0)

    def begin(self, deed: int, at: Moment, wall: float, before: Mapping[str, str]) -> None:
        """One that a person has approved begins now."""
        with self._db:
            self._db.execute(
                "UPDATE deeds SET state = 'begun', boot = ?, s = ?, wall = ?, before = ? WHERE id = ?",
                (at.boot, at.s, wall, json.dumps(dict(before)), deed),
            )

    def mark(self, deed: int, state: State, at: Moment, *, wall: float, said: str = "") -> None:
        """How it stands now."""
        end = (at.boot, at.s, wall) if state in _ENDED else (None, None, None)
        with self._db:
            self._db.execute(
                "UPDATE deeds SET state = ?, ended_boot = ?, ended_s = ?, ended_wall = ?, said = ? WHERE id = ?",
                (state, *end, said, deed),
            )

    def entries(self, *states: State) -> tuple[Entry, ...]:
        """Deeds in these states, the oldest first; all of them where none is named."""
        if not states:
            return self._entries("", ())
        return self._entries(f"WHERE state IN ({', '.join('?' * len(states))})", states)

    def entry(self, deed: int) -> Entry | None:
        """The deed of that id."""
        return next(iter(self._entries("WHERE id = ?", (deed,))), None)

    def _entries(self, where: str, values: tuple[object, ...]) -> tuple[Entry, ...]:
        rows = self._db.execute(f"SELECT {_DEED} FROM deeds {where} ORDER BY id", values)  # noqa: S608 (constants)
        return tuple(_entry(row) for row in rows)

    def tells(self, *, unsent: bool = False) -> tuple[Telling, ...]:
        """What was told, the oldest first; or what is still to be told."""
        where = "WHERE sent = 0" if unsent else ""
        rows = self._db.execute(
            f"SELECT id, incident, host, rule, topic, words, wall, sent FROM tells {where} ORDER BY id"  # noqa: S608 (constants)
        )
        return tuple(Telling(*row) for row in rows)

    def sent(self, telling: int) -> None:
        """It was told."""
        with self._db:
            self._db.execute("UPDATE tells SET sent = 1 WHERE id = ?", (telling,))

    def new_jobs(self, jobs: Iterable[str]) -> tuple[str, ...]:
        """Those of these ended jobs that were not looked into yet."""
        known = {row[0] for row in self._db.execute("SELECT job FROM jobs")}
        return tuple(job for job in jobs if job not in known)


def _counts(deed: Deed, incidents: Iterable[Incident], now: Moment, window_s: float) -> bool:
    opened = {one.id for one in incidents}
    alive = deed.state in {"proposed", "approved", "begun", "acted"}
    return alive or deed.incident in opened or now.since(deed.at) < window_s


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
        why,
        before,
        state,
        boot,
        s,
        e_boot,
        e_s,
        said,
        wall,
    ) = row
    intent = Intent(str(host), str(rule), str(action), str(why), str(unit), str(job), str(spare))
    ended = None if e_boot is None else Moment(str(e_boot), float(str(e_s)))
    deed = Deed(int(str(id_)), int(str(incident)), intent, state, Moment(str(boot), float(str(s))), ended)  # type: ignore[arg-type]  # (we wrote it)
    return Entry(deed, json.loads(str(before)), str(said), float(str(wall)))
