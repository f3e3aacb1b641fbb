"""The progress of runs, from small parts of their files (standard library, Python 3.8; sent to the controller)."""

from __future__ import annotations

import os
import time
from typing import Any, BinaryIO, Dict, Iterable, List, Optional, Tuple

from clusterwright.onhost.lib.by_owner import read_by_owner
from clusterwright.onhost.lib.numbers import ascii_int, plain_number
from clusterwright.onhost.lib.run_outcome import RUNNING, decide
from clusterwright.onhost.lib.safe_reader import (
    TEXT_BYTES,
    list_folder,
    open_regular,
    read_object,
    read_part,
)
from clusterwright.onhost.runs.run_folders import owner_of, user_name
from clusterwright.onhost.runs.run_state import read_evidence, slurm_job
from clusterwright.onhost.supervisor.goodput import history, speed

POINTS = 80  # points of a loss curve: the width of a terminal
TAIL = 64 << 10
READ_BYTES = 1 << 30  # bytes read of one owner's runs
_FIELDS = (
    "step", "total_steps", "loss", "tokens_per_s", "samples_per_s", "mfu", "eta_s", "data_wait", "communication",
)  # fmt: skip


def read_runs(runs: str, names: Iterable[str], limit_s: float) -> Tuple[Dict[str, Dict[str, Any]], int]:
    """Return the progress of runs by name, and the number of runs skipped for lack of time or damaged events.

    Each owner of runs has an equal share of the time.
    """
    runs_by_name, unread_count = {}, 0  # type: Dict[str, Dict[str, Any]], int
    folders = [os.path.join(runs, name) for name in names if name and "/" not in name]
    owners = {folder: owner for folder, owner in zip(folders, map(owner_of, folders)) if owner is not None}
    for folder, run, error in read_by_owner(owners, limit_s, READ_BYTES, about):
        if error:
            unread_count += 1
        else:
            runs_by_name[os.path.basename(folder)] = dict(run, user=user_name(owners[folder]))
    return runs_by_name, unread_count


def about(run: str) -> Dict[str, Any]:
    """Return a run's state, newest step and loss curve; reads a few hundred KiB, however long the run is."""
    path = os.path.join(run, "events", "rank-00000.jsonl")
    events = _events(run, path)
    record = read_object(os.path.join(run, "job.json"), TEXT_BYTES)
    state = _state(run)
    now = speed.progress(events, record, running=state == RUNNING)
    fields = {name: plain_number(now.get(name)) for name in _FIELDS}
    return dict(fields, state=state, curve=curve(path), checkpoint_age_s=_saved(run))


def _events(run: str, path: str) -> List[history.Event]:
    """Return rank 0's events at the beginning, the end and around the newest start; none before the first step."""
    try:
        if os.stat(path).st_size <= history.CONTEXT_BYTES:
            return list(history.parse(read_part(path, history.CONTEXT_BYTES)))
        return sorted(history.thin(path, _started(run)), key=lambda event: float(event["time"]))
    except OSError:
        return []


def _started(run: str) -> List[float]:
    """Return the start time of the newest generation as a list, from the supervisor's events; empty without one."""
    times: List[float] = []
    for path in history.event_files(run, "supervisor-")[-1:]:
        events = list(history.parse(read_part(path, TAIL, -TAIL)))
        times = [float(event["time"]) for event in events if event["event"] == "generation_start"]
    return times[-1:]


def _state(run: str) -> str:
    """Return the state of a run that Slurm has a running job of, by the files in its folder."""
    return decide(read_evidence(run)._replace(jobs=[slurm_job("", "RUNNING")])).state


def _saved(run: str) -> Optional[float]:
    """Return the seconds since the newest complete checkpoint, whose manifest is written last.

    None if none of the three newest is complete.
    """
    folder = os.path.join(run, "checkpoints")
    steps = sorted(
        (name for name in list_folder(folder) if ascii_int(name[5:]) is not None),
        key=lambda name: -int(name[5:]),
    )
    for name in steps[:3]:
        try:
            return max(0.0, time.time() - os.stat(os.path.join(folder, name, "manifest.json")).st_mtime)
        except OSError:
            continue
    return None


def curve(path: str) -> List[List[float]]:
    """Return [step, loss] at evenly spaced places in the file; of repeated steps the last repetition counts.

    Empty if the file cannot be read.
    """
    points: Dict[int, float] = {}
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            for index in range(POINTS):
                event = _step_at(file, size * index // POINTS)
                if event is None:
                    continue
                points = {step: loss for step, loss in points.items() if step < event["step"]}
                points[event["step"]] = event["loss"]
    except OSError:
        return []
    return [[step, points[step]] for step in sorted(points)]


def _step_at(file: BinaryIO, offset: int) -> Optional[Dict[str, Any]]:
    file.seek(offset)
    block = file.read(history.PROBE)
    if offset:
        block = block.partition(b"\n")[2]
    for event in history.parse(block[: block.rfind(b"\n") + 1]):
        if (
            event["event"] == "step"
            and isinstance(event.get("step"), int)
            and isinstance(event.get("loss"), float)
        ):
            return event
    return None
