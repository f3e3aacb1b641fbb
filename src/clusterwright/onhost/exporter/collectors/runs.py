"""Metrics of runs, from the events in their folders; runs that ended more than an hour ago are dropped."""

from __future__ import annotations

import os
import pwd
import sys
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple

from clusterwright.onhost.exporter.run_events import RunEvents
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family
from clusterwright.onhost.lib.safe_reader import (
    DATA_ERRORS,
    by_owner,
    is_regular,
    list_folder,
    read_object,
    reading_budget,
)
from clusterwright.onhost.supervisor.goodput import figures, reading, slow, speed
from clusterwright.onhost.supervisor.goodput.history import History
from clusterwright.onhost.supervisor.goodput.timeline import jobs

EVERY_S, TIMEOUT_S, STAYS = 10.0, 60.0, True
RETIRED_S = 3600.0
HEARTBEAT_TIMEOUT_S = 60.0  # a heartbeat comes every second, but storage may be slow
LOST_S = 86400.0  # a run without an end record counts as ended after so long without heartbeat
MOST = 300  # monitored runs
READ_BYTES = 2 << 30  # of one owner's runs in each poll
RECENT = 20  # steps of the mean step time


class Followed:
    """One monitored run."""

    def __init__(self, folder: str) -> None:
        self.folder, self.name = folder, os.path.basename(folder)
        self.record = read_object(os.path.join(folder, "job.json"))
        self.events = RunEvents(folder)
        self.most: Dict[Tuple[str, Tuple[Tuple[str, str], ...]], float] = {}

    def ended(self) -> Optional[float]:
        """Return the time of the run's end record, None while it runs."""
        return _time(os.path.join(self.folder, "ended.json"))

    def alive(self) -> float:
        """Return the time of the last heartbeat."""
        return _time(os.path.join(self.folder, "pulse")) or 0.0


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True on the controller if there is a runs folder."""
    return settings.control and bool(settings.runs)


def collect(settings: ExporterSettings, state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield the metrics of all runs; a run with invalid events does not affect the others."""
    runs_by_name: Dict[str, Followed] = state.setdefault("runs", {})
    now = time.time()
    _find(settings.runs, runs_by_name, state.setdefault("past", set()), now)
    into: Dict[str, Family] = {}
    unread = Family("run_unreadable", "gauge", "1 for a run with invalid events.")
    folders = [runs_by_name[name].folder for name in sorted(runs_by_name)]
    for folder, budget in by_owner(folders, TIMEOUT_S / 2, READ_BYTES):
        name, run = os.path.basename(folder), runs_by_name[os.path.basename(folder)]
        try:
            with reading_budget(budget):
                run.events.read()
                samples = list(_samples(run, now))
        except DATA_ERRORS as error:
            sys.stderr.write(f"run {name!r}: {type(error).__name__}: {error}\n")
            unread.add(1, run=name)
            continue
        for family, kind, meaning, labels, value in samples:
            into.setdefault(family, Family(f"run_{family}", kind, meaning)).add(value, run=name, **labels)
    yield from (*into.values(), unread)


def _find(folder: str, runs_by_name: Dict[str, Followed], past: Set[str], now: float) -> None:
    """Add new runs, and drop removed and old ones."""
    names = list_folder(folder)
    for removed in (set(runs_by_name) | past) - set(names):
        runs_by_name.pop(removed, None)
        past.discard(removed)
    for name in sorted(set(names) - past):
        run = runs_by_name.get(name)
        if run is None and not is_regular(os.path.join(folder, name, "job.json")):
            continue
        run = run or Followed(os.path.join(folder, name))
        ended = run.ended()
        last_heartbeat = max(run.alive(), _time(os.path.join(folder, name, "job.json")) or 0.0)
        if (ended and now - ended > RETIRED_S) or (not ended and now - last_heartbeat > LOST_S):
            runs_by_name.pop(name, None)
            past.add(name)
        elif name in runs_by_name or len(runs_by_name) < MOST:
            runs_by_name[name] = run


_Sample = Tuple[str, str, str, Mapping[str, str], Optional[float]]


def _samples(run: Followed, now: float) -> Iterator[_Sample]:
    """Yield the metrics of `wright status --metrics`, and those that need a long-running observer."""
    events, running = run.events.all(), not run.ended() and now - run.alive() < HEARTBEAT_TIMEOUT_S
    submitted = run.record.get("submitted")
    run_history = History(
        events,
        float(submitted) if isinstance(submitted, (int, float)) else None,
        run.record.get("price") if isinstance(run.record.get("price"), dict) else None,
        run.record,
    )
    totals = figures.work_out(run_history, now if running else None)
    chain = jobs(events, now if running else None)
    job = run.record.get("job")
    labels = {
        "job": chain[-1].job_id if chain else "",
        "user": _user(run.folder),
        "account": str((job if isinstance(job, dict) else {}).get("account") or ""),
        "name": str((job if isinstance(job, dict) else {}).get("name") or ""),
    }
    yield "info", "gauge", "1 for each run of the last hour.", labels, 1.0
    yield "running", "gauge", "1 while the supervisor's heartbeat is recent.", {}, float(running)
    present = {**speed.progress(events, run.record, running=running), **_now(events, chain)}
    for name, kind, meaning, rows in reading.families(totals, present):
        for more, value in rows:
            yield name, kind, meaning, more, _risen(run, name, more, value) if kind == "counter" else value
    yield from _moments(run, events, now, running=running)


def _now(events: List[Dict[str, Any]], chain: List[Any]) -> Dict[str, Any]:
    """Return the generation, the newest complete checkpoint and the slowest rank."""
    generations = chain[-1].generations if chain else ()
    saved = [event.get("step") for event in events if event["event"] == "checkpoint"]
    late = slow.now(events)
    return {
        "generation": generations[-1].number if generations else None,
        "verified": saved[-1] if saved else None,
        "slow_rank": late and {"rank": late.rank, "host": late.host, "ratio": late.ratio},
    }


def _moments(run: Followed, events: List[Dict[str, Any]], now: float, *, running: bool) -> Iterator[_Sample]:
    last = run.events.last_step()
    steps = [event for event in events if event["event"] == "step"]
    lengths = [
        float(event["seconds"]) for event in steps[-RECENT:] if isinstance(event.get("seconds"), (int, float))
    ]
    yield (
        "step_seconds",
        "gauge",
        "Mean time of the latest steps.",
        {},
        sum(lengths) / len(lengths) if lengths else None,
    )
    if not running or last is None:
        return
    saved = [event["time"] for event in events if event["event"] == "checkpoint"] or [steps[0]["time"]]
    stalled_s, age_s = (max(0.0, round(now - when, 1)) for when in (last["time"], saved[-1]))
    yield "stalled_seconds", "gauge", "Time since the newest step was complete.", {}, stalled_s
    yield "checkpoint_age_seconds", "gauge", "Time since the newest checkpoint, or the first step.", {}, age_s


def _risen(run: Followed, name: str, more: Mapping[str, str], value: Optional[float]) -> Optional[float]:
    """Return the maximum so far, so that a counter never falls: work lost later leaves its goodput bin."""
    if value is None:
        return None
    key = (name, tuple(more.items()))
    run.most[key] = max(value, run.most.get(key, value))
    return run.most[key]


def _time(path: str) -> Optional[float]:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def _user(folder: str) -> str:
    """Return the owner of the folder, whatever its files contain."""
    uid = os.stat(folder).st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
