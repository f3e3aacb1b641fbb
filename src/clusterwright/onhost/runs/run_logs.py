"""Merge and follow the logs of a run on a host that has its folder (Python 3.8; sent with run_jobs.py)."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from fnmatch import fnmatch
from typing import Any, Dict, Iterator, List, Set, Tuple

from clusterwright.onhost.lib.numbers import ascii_int
from clusterwright.onhost.lib.run_outcome import EXIT_CODES
from clusterwright.onhost.lib.safe_reader import (
    DATA_ERRORS,
    Budget,
    list_folder,
    modified,
    open_regular,
    read_object,
    read_part,
    reading_budget,
    walk_folder,
)
from clusterwright.onhost.runs import run_folders, run_progress, run_state
from clusterwright.onhost.runs.merged_logs import JOB, Chunk, merge, prefix, split
from clusterwright.onhost.runs.run_files import in_queue

POLL_INTERVAL_S = 0.3  # poll of the files: too short to notice, and a listing of a run takes 1 ms
SOON_S = 0.05  # poll while the run is about to end, so that its followers end with it
QUEUE_S = 5.0  # poll of Slurm for jobs of the run
CLOSE_TIMEOUT_S = 5.0  # after the end of a run, within which its supervisor prints the accounting
PROGRESS_S = 30.0  # interval of progress lines in a log file
LIVE_S = 2.0  # the same on a terminal
PASS_BYTES, READ_BYTES = 64 << 20, 1 << 20  # read at once: of all files, of one
LINE_BYTES = 1 << 20  # the rest of a longer line is left out
EVENTS_S, EVENTS_BYTES = 60.0, 1 << 30  # to read the events of the run for its progress
LEFT_OUT = b" [the rest of this line is left out: it has more than %d bytes]" % LINE_BYTES
RUNNING = 0
RANK_DEPTH, TORCHRUN_DEPTH = (
    3,
    6,
)  # names below `logs`: generation, host, file; torchrun has three folders more


class Follow:
    """The logs of a run, merged: ranks as [host:local rank], the job's own lines as [job].

    `form` is `text`, with periodic progress on stderr, or `json`: one object per line, for logs and progress
    alike.
    """

    def __init__(self, run: str, form: str = "text") -> None:
        self.run, self.form = run, form
        self._offsets: Dict[str, int] = {}
        self._partial: Dict[str, bytes] = {}
        self._too_long: Set[str] = set()  # files whose current line is left out from here on
        self._generation: Dict[str, int] = {}
        self._queue_polled_at = self._progress_polled_at = time.monotonic()
        self._progress_interval_s = PROGRESS_S if form == "text" else LIVE_S
        self._last_progress = ""

    def show(self, *, live: bool) -> int:
        """Print the logs once, or with `live` until the run has ended; return the run's exit code.

        Of a run that has not ended, RUNNING; 1 if it has no outcome and Slurm has no job of it.
        """
        while True:
            # read first: the last log lines are written before this file
            ended = read_object(os.path.join(self.run, "ended.json"))
            closed = not live or self._closed()
            wrote = self._pass_on()
            if live:
                self._progress(at_once=bool(ended and closed and not wrote))
            if ended and closed and not wrote:
                return EXIT_CODES.get(str(ended.get("outcome")), 1)
            if not live and not wrote:
                return RUNNING
            if live and self._abandoned():
                state, reason, _ended_at = run_state.read_state(self.run, run_folders.job_ids(self.run))
                sys.stderr.write(f"{state}: {reason}\n")
                return EXIT_CODES.get(state, 1)
            if not wrote:
                hung_up(self.poll_interval_s(ended=bool(ended)))

    def poll_interval_s(self, *, ended: bool) -> float:
        """Return the seconds until the next poll of the logs, fewer once the run has ended or is canceled."""
        return SOON_S if ended or os.path.exists(os.path.join(self.run, "cancelled")) else POLL_INTERVAL_S

    def _pass_on(self) -> bool:
        """Print new complete lines of all logs, merged, each after its sources; return True if there was new data."""
        files, before = list(sources(self.run)), sum(self._offsets.values())
        size = min(READ_BYTES, PASS_BYTES // max(1, len(files)))
        chunks = [chunk for path, source in files for chunk in self._new(path, source, size)]
        out = sys.stdout.buffer
        for merged_line in merge(chunks):
            if self.form == "json":
                row = {"from": list(merged_line.sources), "text": merged_line.text.decode(errors="replace")}
                out.write(json.dumps(row).encode() + b"\n")
            else:
                out.write(b"[%b] %b\n" % (prefix(merged_line.sources).encode(), merged_line.text))
        out.flush()
        return sum(self._offsets.values()) > before

    def _new(self, path: str, source: str, size: int) -> List[Chunk]:
        offset = self._offsets.get(path, 0)
        try:
            if path in self._too_long:
                offset = skip_hole(path, offset)
            data = read_part(path, size, offset)
        except OSError:
            return []
        self._offsets[path] = offset + len(data)
        stripped_lines = [line.rstrip(b"\r") for line in self._lines(path, data)]
        if source != JOB:
            return [Chunk(source, generation(path), stripped_lines)] if stripped_lines else []
        chunks = split(source, stripped_lines, self._generation.get(path, 0))
        self._generation[path] = chunks[-1].generation if chunks else self._generation.get(path, 0)
        return chunks

    def _lines(self, path: str, data: bytes) -> List[bytes]:
        """Return the complete lines in new data of a log file; a line over LINE_BYTES is cut, and marked so.

        What follows the last line break is retained for the next call.
        """
        *lines, rest = (self._partial.get(path, b"") + data).split(b"\n")
        if path in self._too_long and lines:
            del lines[0]  # its end
            self._too_long.discard(path)
        if path in self._too_long:
            rest = b""
        elif len(rest) > LINE_BYTES:
            lines.append(rest)
            self._too_long.add(path)
            rest = b""
        self._partial[path] = rest
        return [line if len(line) <= LINE_BYTES else line[:LINE_BYTES] + LEFT_OUT for line in lines]

    def _progress(self, *, at_once: bool) -> None:
        """Print the run's progress when due and changed, or with `at_once` when changed.

        Reading a long run's events takes at most 10 % of the time; JSON goes to stdout, text to stderr.
        """
        now = time.monotonic()
        if not at_once and now - self._progress_polled_at < self._progress_interval_s:
            return
        text = self._read_progress()
        self._progress_polled_at = time.monotonic()
        self._progress_interval_s = max(self._progress_interval_s, 10 * (self._progress_polled_at - now))
        if text == self._last_progress:
            return
        self._last_progress = text
        into = sys.stdout if self.form == "json" else sys.stderr
        into.write(text + "\n")
        into.flush()

    def _read_progress(self) -> str:
        try:
            with reading_budget(Budget(EVENTS_S, EVENTS_BYTES)):
                progress: Any = run_progress.read_progress(self.run)
        except DATA_ERRORS as error:
            message = f"the progress cannot be read: {str(error) or type(error).__name__}"
            return json.dumps({"progress": None, "error": message}) if self.form == "json" else message
        return json.dumps({"progress": progress}) if self.form == "json" else run_progress.line(progress)

    def _closed(self) -> bool:
        """Return True once the supervisor has written the accounting of an ended run, or should have long ago."""
        end = _written(os.path.join(self.run, "ended.json"))
        return _written(os.path.join(self.run, "ledger.json")) >= end or time.time() - end > CLOSE_TIMEOUT_S

    def _abandoned(self) -> bool:
        if time.monotonic() - self._queue_polled_at < QUEUE_S or read_object(
            os.path.join(self.run, "job.json")
        ).get("local"):
            return False
        self._queue_polled_at = time.monotonic()
        return not in_queue(self.run) and not os.path.exists(os.path.join(self.run, "ended.json"))


def sources(run: str) -> Iterator[Tuple[str, str]]:
    """Return the run's log files with their sources (`host:local rank`, host or JOB), the oldest file first."""
    names = [name for name in list_folder(run) if fnmatch(name, "slurm-*.out") or name == "job.out"]
    pairs = [(os.path.join(run, name), JOB) for name in names]
    logs = os.path.join(run, "logs")
    for path in walk_folder(logs):
        below = os.path.relpath(path, logs).split(os.sep)
        if len(below) == RANK_DEPTH and below[-1].endswith((".out", ".err")):
            pairs.append((path, f"{below[1]}:{below[2][:-4]}"))
        elif len(below) == RANK_DEPTH and below[-1] == "launcher.log":
            pairs.append((path, below[1]))
        elif (
            len(below) == TORCHRUN_DEPTH
            and below[3].startswith("attempt_")
            and fnmatch(below[-1], "std*.log")
        ):
            pairs.append((path, f"{below[1]}:{below[4]}"))
    dated = [(modified(path), path, source) for path, source in pairs]
    return iter([(path, source) for date, path, source in sorted(row for row in dated if row[0] is not None)])


def skip_hole(path: str, offset: int) -> int:
    """Return the offset of the next data at or after `offset` in a sparse file; its size if there is none.

    A user could make others read a hole of a terabyte.
    """
    with open_regular(path) as file:
        try:
            return os.lseek(file.fileno(), offset, os.SEEK_DATA)
        except OSError:  # no data follows
            return max(offset, os.fstat(file.fileno()).st_size)


def generation(path: str) -> int:
    """Return the generation that a log file's path names, by its folder under `logs`; 0 if it names none."""
    number = path.rpartition(f"{os.sep}logs{os.sep}")[2].partition(os.sep)[0]
    return ascii_int(number) or 0


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def hung_up(seconds: float) -> None:
    """Wait for so many seconds; exit this process if the reader of its stdout has closed the pipe."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    if poll.poll(int(seconds * 1000)) and not sys.stdout.isatty():
        sys.exit(0)
