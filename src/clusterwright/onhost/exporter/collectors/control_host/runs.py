"""Metrics of runs, from the events in their folders; runs that ended more than an hour ago are dropped."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import sys
import time
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Set, Tuple, cast

from clusterwright.onhost.exporter.run_events import RunEvents, memory_bytes
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family
from clusterwright.onhost.lib.accounts import AccountLookup
from clusterwright.onhost.lib.by_owner import read_by_owner
from clusterwright.onhost.lib.run_outcome import RUNNING, RunEvidence, decide
from clusterwright.onhost.lib.safe_names import is_safe_name
from clusterwright.onhost.lib.safe_reader import is_regular, read_object
from clusterwright.onhost.lib.shared_folder import list_shared_folder
from clusterwright.onhost.supervisor.goodput import figures, reading, slow, speed
from clusterwright.onhost.supervisor.goodput.history import History
from clusterwright.onhost.supervisor.goodput.timeline import jobs

EVERY_S, TIMEOUT_S, STAYS = 10.0, 60.0, True
RETIRED_S = 3600.0
HEARTBEAT_TIMEOUT_S = 60.0  # seconds; a heartbeat comes every second, but storage may be slow
LOST_S = 86400.0  # seconds; a run without an end record counts as ended after so long without a heartbeat
MOST = 300  # monitored runs of all owners together
OWNER_BYTES = 256 << 20  # bytes of memory for one owner's runs
MOST_SAMPLES = 500  # samples of a run
READ_BYTES = 2 << 30  # bytes of one owner's runs in each poll
RUN_CPU_S = 5.0  # to compute the metrics of a run: those of 20,000 events take half a second
_JOB_EVENTS = ("job_start", "job_end")
RECENT = 20  # steps over which the mean step time is computed


_Candidate = Tuple[int, bool, float, str]  # owner, not monitored yet, minus the last heartbeat, name
_Sample = Tuple[str, str, str, Mapping[str, str], Optional[float]]


class TooSlowError(Exception):
    """The metrics of a run take too much processor time."""


class Followed:
    """One monitored run and the state of its counters."""

    def __init__(self, folder: str, owner: int) -> None:
        self.folder, self.name = folder, os.path.basename(folder)
        self.record = read_object(os.path.join(folder, "job.json"))
        self.owner = owner
        self.events = RunEvents(folder)
        self.most: Dict[Tuple[str, Tuple[Tuple[str, str], ...]], float] = {}

    def read(self, sizes: Counter[int]) -> None:
        """Read the run's new events, and add the memory that the run takes here to its owner's in `sizes`.

        Raises:
            ValueError: the run or its owner takes too much memory.
        """
        self.events.read()
        size = memory_bytes(self.record) + self.events.size_bytes
        if sizes[self.owner] + size > OWNER_BYTES:
            self.record = {}
            self.events.refuse()
        sizes[self.owner] += size


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True on the controller if the settings name a runs folder; whether it exists is not tested."""
    return settings.control and bool(settings.runs)


def collect(settings: ExporterSettings, state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield the metrics of all training runs in the runs folder that are active or have ended recently.

    A run with invalid events counts in `run_unreadable` and does not affect the others.
    """
    runs_by_name: Dict[str, Followed] = state.setdefault("runs", {})
    now = time.time()
    _find(settings.runs, runs_by_name, state.setdefault("past", set()), now)
    into: Dict[str, Family] = {}
    sizes: Counter[int] = Counter()
    unread = Family("run_unreadable", "gauge", "1 for a run with invalid events.")
    folders = [runs_by_name[name].folder for name in sorted(runs_by_name)]

    def read(folder: str) -> List[_Sample]:
        run = runs_by_name[os.path.basename(folder)]
        run.read(sizes)
        try:
            with processor_time(RUN_CPU_S):
                return _checked(_samples(run, now))
        except TooSlowError as error:
            run.events.refuse(str(error))
            raise

    for folder, samples, error in read_by_owner(folders, TIMEOUT_S / 2, READ_BYTES, read):
        name = os.path.basename(folder)
        if error:
            sys.stderr.write(f"run {name!r}: {type(error).__name__}: {str(error)[:300]}\n")
            unread.add(1, run=name)
            continue
        for family, kind, meaning, labels, value in samples:
            into.setdefault(family, Family(f"run_{family}", kind, meaning)).add(value, run=name, **labels)
    yield from (*into.values(), unread)


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Limit the processor time of a `with` block, in the main thread of a collector's process.

    Raises:
        TooSlowError: it takes longer.
    """

    def stop(*_: object) -> None:
        raise TooSlowError(f"its metrics take more than {seconds:g} s to compute")

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def _find(folder: str, runs_by_name: Dict[str, Followed], past: Set[str], now: float) -> None:
    """Update the followed runs by name: add new ones; remove deleted ones and those that ended or were lost long ago.

    A lost one has had no heartbeat for LOST_S. Names of these are added to `past`, and not read again.
    """
    names = list(filter(is_safe_name, list_shared_folder(folder)))  # `wright train` gives no other names
    for removed in (set(runs_by_name) | past) - set(names):
        runs_by_name.pop(removed, None)
        past.discard(removed)
    candidates: List[_Candidate] = []
    account = AccountLookup()
    for name in sorted(set(names) - past):
        path, is_new = os.path.join(folder, name), name not in runs_by_name
        record = os.path.join(path, "job.json")
        if is_new and not is_regular(record):
            continue
        ended, last_heartbeat = _ended(path), max(_alive(path), _time(record) or 0.0)
        if (ended and now - ended > RETIRED_S) or (not ended and now - last_heartbeat > LOST_S):
            past.add(name)
        else:
            with contextlib.suppress(OSError):  # removed meanwhile
                candidates.append((account(os.lstat(path).st_uid), is_new, -last_heartbeat, name))
    chosen = choose(candidates)
    for name in set(runs_by_name) - chosen:
        del runs_by_name[name]
    for name in chosen - set(runs_by_name):
        with contextlib.suppress(OSError):
            path = os.path.join(folder, name)
            runs_by_name[name] = Followed(path, account(os.lstat(path).st_uid))


def choose(candidates: Iterable[_Candidate]) -> Set[str]:
    """Return the names of at most MOST runs to monitor: first one of each owner, then a second one, and so on.

    Runs that are followed already come before new ones, then those with the latest heartbeat.
    """
    numbers: Counter[int] = Counter()
    rows: List[Tuple[int, bool, float, str]] = []
    for owner, is_new, age, name in sorted(candidates):
        rows.append((numbers[owner], is_new, age, name))
        numbers[owner] += 1
    return {name for *_, name in sorted(rows)[:MOST]}


def _ended(folder: str) -> Optional[float]:
    """Return the time of the run's end record, None while the run continues."""
    return _time(os.path.join(folder, "ended.json"))


def _alive(folder: str) -> float:
    """Return the time of the run's last heartbeat, 0 without one."""
    return _time(os.path.join(folder, "pulse")) or 0.0


def _checked(samples: Iterable[_Sample]) -> List[_Sample]:
    """Return the samples as a list, with all values as floats; None remains.

    Raises:
        ValueError: they are too many, or a value is not a number.
        TypeError, OverflowError: a value is not a number.
    """
    rows = [(*row, None if value is None else float(value)) for *row, value in samples]
    if len(rows) > MOST_SAMPLES:
        raise ValueError(f"{len(rows)} samples")
    return cast("List[_Sample]", rows)


def _samples(run: Followed, now: float) -> Iterator[_Sample]:
    """Yield a run's metrics, by which its events and `now` are evaluated.

    They are those of `wright status --metrics`, and those that need a continuous reader.
    """
    events = run.events.all()
    running = _is_running(run.folder, events, now)
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
            yield name, kind, meaning, more, _peak(run, name, more, value) if kind == "counter" else value
    yield from _moments(run, events, now, running=running)


def _is_running(folder: str, events: List[Dict[str, Any]], now: float) -> bool:
    """Return True if the heartbeat is recent and the run has no outcome."""
    newest: Mapping[str, Any] = next(
        (event for event in reversed(events) if event["event"] in _JOB_EVENTS), {}
    )
    evidence = RunEvidence(
        read_object(os.path.join(folder, "ended.json")),
        _ended(folder) is not None,
        newest if newest.get("event") == "job_end" else {},
        now - _alive(folder),
        heartbeat_timeout_s=HEARTBEAT_TIMEOUT_S,
    )
    return decide(evidence).state == RUNNING


def _now(events: List[Dict[str, Any]], chain: List[Any]) -> Dict[str, Any]:
    """Return the run's generation, step of the newest complete checkpoint, and slowest rank; None if unknown."""
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


def _peak(run: Followed, name: str, more: Mapping[str, str], value: Optional[float]) -> Optional[float]:
    """Return the maximum of a run's counter so far, None for None.

    A counter must not fall when work that was lost leaves its goodput bin.
    """
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
    """Return the name of the user who owns the folder, or the uid without a name, whatever its files contain."""
    uid = os.stat(folder).st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
