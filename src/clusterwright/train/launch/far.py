"""What is done beside the runs' folder, on a host that has it: list, follow, cancel (standard library, Python 3.8).

This file is sent as it stands to `python3 -` on the control host, so that each command needs one ssh.
Its first argument is what to do, the second the folder of all runs.
"""

from __future__ import annotations

import glob
import json
import os
import re
import select
import subprocess
import sys
import time
from typing import Any, Dict, Iterator, List, Tuple

LOOK_S = 0.3  # how often files are looked at: a person sees no difference, a listing of a run takes 1 ms
QUEUE_S = 5.0  # how often Slurm is asked whether anything of the run is left
RECENT = 10  # ended runs that are listed
NO_RUN, RUNNING = 69, 0  # sysexits.h EX_UNAVAILABLE


def main() -> int:
    """Do what the arguments say."""
    what, runs, *rest = sys.argv[1:]
    if what == "list":
        json.dump(list_runs(runs), sys.stdout)
        return 0
    run = find(runs, rest[0])
    if not run:
        sys.stderr.write(
            f"no run `{rest[0]}` in {runs}; there are: {', '.join(newest(runs)[:5]) or 'none'}\n"
        )
        return NO_RUN
    if what == "cancel":
        return cancel(run)
    return Follow(run).show(live=rest[1] == "live")


def newest(runs: str) -> List[str]:
    """Names of the runs, the newest first."""
    try:
        with os.scandir(runs) as entries:
            found = [
                (entry.stat().st_mtime, entry.name)
                for entry in entries
                if os.path.exists(os.path.join(entry.path, "job.json"))
            ]
    except FileNotFoundError:
        return []
    # a folder's time moves when a file is made in it; the name ends in the time at which the run began
    return [name for _, name in sorted(found, key=lambda pair: pair[1][-15:], reverse=True)]


def find(runs: str, what: str) -> str:
    """The folder of a run named by its name, a job id, `last`, or the path of one of its files; empty for none."""
    names = newest(runs)
    match = re.fullmatch(r".*?slurm-(\d+)\.out", what)
    job_id = match.group(1) if match else what
    if what == "last" and names:
        return os.path.join(runs, names[0])
    for name in names:
        if what.rstrip("/").endswith(name) or job_id in job_ids(os.path.join(runs, name)):
            return os.path.join(runs, name)
    return ""


def job_ids(run: str) -> List[str]:
    """Ids of the jobs of the run, in the order in which they were submitted."""
    ids = read_text(os.path.join(run, "jobs")).split()
    for path in sorted(
        glob.glob(os.path.join(glob.escape(run), "chain", "[0-9]*")),
        key=lambda path: int(os.path.basename(path)),
    ):
        ids += [text for text in read_text(path).split() if text not in ids]
    return ids


def list_runs(runs: str) -> List[Dict[str, Any]]:
    """Runs that have not ended, and the newest ones that have."""
    listed = [about(os.path.join(runs, name)) for name in newest(runs)]
    ended = [run["run"] for run in listed if run["ended"]][:RECENT]
    return [run for run in listed if not run["ended"] or run["run"] in ended]


def about(run: str) -> Dict[str, Any]:
    """What a run's folder says about it."""
    steps = [name[5:] for name in names_in(os.path.join(run, "checkpoints")) if name.startswith("step-")]
    generations = [int(name) for name in names_in(os.path.join(run, "logs")) if name.isdigit()]
    return {
        "run": os.path.basename(run),
        "jobs": job_ids(run),
        "generation": max(generations, default=0),
        "checkpoint": max((int(step) for step in steps if step.isdigit()), default=None),
        "step": last_step(run),
        "ended": read_json(os.path.join(run, "ended.json")),
    }


def last_step(run: str) -> Any:
    """The newest `step` event; only the end of each file is read, since a long run writes millions of lines."""
    found = []
    for path in glob.glob(os.path.join(glob.escape(run), "events", "*.jsonl")):
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 8192))
            lines = file.read().splitlines()
        events = [event for event in map(read_line, lines) if event.get("event") == "step"]
        found += [(event.get("time", 0), event.get("step")) for event in events[-1:]]
    return max(found)[1] if found else None


def cancel(run: str) -> int:
    """Ask the ranks to save and leave; who has not left in half a minute is ended by Slurm."""
    name = os.path.basename(run)
    as_owner(run, lambda: touch(run, "cancelled", "stop"))
    call("scancel", "--state=PENDING", f"--name={name}")
    until = (
        time.monotonic() + 40
    )  # the supervisor's grace is 10 s to 290 s; a person who cancels waits no longer than this
    while in_queue(name) and time.monotonic() < until:
        time.sleep(LOOK_S)
    if in_queue(name):
        call("scancel", f"--name={name}")
    sys.stdout.write(f"cancelled {name}\n")
    return 0


class Follow:
    """The logs of a run, merged: ranks as [host:local rank], the job's own lines as [job]."""

    def __init__(self, run: str) -> None:
        self.run, self._offsets, self._rest = run, {}, {}  # type: str, Dict[str, int], Dict[str, bytes]
        self._asked = time.monotonic()

    def show(self, *, live: bool) -> int:
        """Until the run has ended, or once; the run's outcome as an exit code."""
        while True:
            ended = read_json(
                os.path.join(self.run, "ended.json")
            )  # read first: what it ended with is then there
            wrote = self._pass_on()
            if ended and not wrote:
                return int(ended.get("code", 1))
            if not live and not wrote:
                return RUNNING
            if live and self._abandoned():
                sys.stderr.write("no job of this run is left in Slurm, and it did not say how it ended\n")
                return 1
            if not wrote:
                hung_up(LOOK_S)

    def _pass_on(self) -> bool:
        """Whole lines that are new; those of a rank's file come with its prefix."""
        wrote = False
        for path, prefix in sources(self.run):
            with open(path, "rb") as file:
                file.seek(self._offsets.get(path, 0))
                data = file.read(1 << 20)
            self._offsets[path] = self._offsets.get(path, 0) + len(data)
            *lines, self._rest[path] = (self._rest.get(path, b"") + data).split(b"\n")
            for line in lines:
                sys.stdout.buffer.write(prefix.encode() + b" " + line.rstrip(b"\r") + b"\n")
            wrote = wrote or bool(data)
        sys.stdout.buffer.flush()
        return wrote

    def _abandoned(self) -> bool:
        if time.monotonic() - self._asked < QUEUE_S or read_json(os.path.join(self.run, "job.json")).get(
            "local"
        ):
            return False
        self._asked = time.monotonic()
        return not in_queue(os.path.basename(self.run)) and not os.path.exists(
            os.path.join(self.run, "ended.json")
        )


def sources(run: str) -> Iterator[Tuple[str, str]]:
    """Log files and their prefixes, the oldest first."""
    at = glob.escape(run)
    found = [(path, "[job]") for path in glob.glob(f"{at}/slurm-*.out") + glob.glob(f"{at}/job.out")]
    for path in glob.glob(f"{at}/logs/*/*/*/attempt_*/*/std*.log"):
        parts = path.split(os.sep)
        found.append((path, f"[{parts[-5]}:{parts[-2]}]"))
    for path in glob.glob(f"{at}/logs/*/*/torchrun.log"):
        found.append((path, f"[{path.split(os.sep)[-2]}]"))
    return iter(sorted(found, key=lambda pair: (os.stat(pair[0]).st_mtime, pair[0])))


def in_queue(name: str) -> bool:
    """True while Slurm has a job of the run that has not ended; also when Slurm does not answer."""
    code, out = call("squeue", "--noheader", f"--name={name}", "--format=%i")
    return code != 0 or bool(out.strip())


def as_owner(path: str, work: Any) -> None:
    """Do it as the owner of the path: a file server may let root write nothing (root_squash)."""
    owner, mine = os.stat(path), os.geteuid()
    if mine == 0:
        os.setegid(owner.st_gid)
        os.seteuid(owner.st_uid)
    try:
        work()
    finally:
        if mine == 0:
            os.seteuid(0)
            os.setegid(0)


def touch(run: str, *marks: str) -> None:
    """The marks are there."""
    for mark in marks:
        with open(os.path.join(run, mark), "a", encoding="utf-8"):
            pass


def hung_up(seconds: float) -> None:
    """Wait; leave when nobody reads any more."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    if poll.poll(int(seconds * 1000)) and not sys.stdout.isatty():
        sys.exit(0)


def call(*argv: str) -> Tuple[int, str]:
    """A program's exit code and output; one that is missing counts as failed."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=30, check=False)  # noqa: S603 (Slurm's own programs)
    except (OSError, subprocess.TimeoutExpired):
        return 1, ""
    return done.returncode, done.stdout.decode(errors="replace")


def read_text(path: str) -> str:
    """The text; empty when there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def read_json(path: str) -> Dict[str, Any]:
    """The object; empty when there is none."""
    return read_line(read_text(path).encode())


def read_line(line: bytes) -> Dict[str, Any]:
    """One line's object; empty for a torn one."""
    try:
        document = json.loads(line)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def names_in(folder: str) -> List[str]:
    """Names in a folder; none when it is not there."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(130)
