"""Prints a job's logs and events as one JSON document, on a host that mounts them (standard library, Python 3.8).

Sent to `python3 -` on the controller with the runs folder, the job, and paths that Slurm reported. The middle of a long
file is left out: the first failure is near its beginning or its end.
"""

from __future__ import annotations

import base64
import glob
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, Dict, List

from clusterwright.onhost.lib.safe_reader import is_regular, open_regular, parse_object, read_bytes
from clusterwright.onhost.runs.run_folders import find, own_job_ids

ALL_BYTES = 48 << 20  # of all files together: seconds over a slow link
LEAST_BYTES = 64 << 10  # of one file
DUMP_BYTES = 24 << 20  # of all dumps together; one larger than its share is left out
_OF_RANK = re.compile(r"logs/(\d+)/([^/]+)/(\d+)\.(?:out|err|stacks)$")
_OF_TORCHRUN = re.compile(r"logs/(\d+)/([^/]+)/.*attempt_\d+/(\d+)/std(?:out|err)\.log$")


def main() -> int:
    """Print the texts, and the run of the job if there is one."""
    runs, job, *named = sys.argv[1:]
    run = find(runs, job)
    paths = list(
        dict.fromkeys([*(files_of(run) if run else ()), *(path for path in named if is_regular(path))])
    )
    share = max(LEAST_BYTES, ALL_BYTES // max(1, len(paths)))
    texts = [{"path": path, **owner(path), "text": read(path, share)} for path in paths]
    json.dump(
        {
            "run": run,
            "jobs": own_job_ids(run) if run else [],
            "events": events(run) if run else [],
            "texts": texts,
            "dumps": dumps(run) if run else [],
        },
        sys.stdout,
    )
    return 0


def files_of(run: str) -> Iterator[str]:
    """Yield the logs of the last two generations and of the job itself, and dumped stacks."""
    root = glob.escape(run)
    yield from sorted(glob.glob(root + "/slurm-*.out") + glob.glob(root + "/job.out"))
    generations = sorted(glob.glob(root + "/logs/[0-9]*"), key=_number)[-2:]
    for folder in generations:
        for path in sorted(glob.glob(glob.escape(folder) + "/**", recursive=True)):
            if path.endswith((".out", ".err", ".log", ".stacks")) and is_regular(path):
                yield path


def dumps(run: str) -> List[Dict[str, str]]:
    """Return the NCCL flight recorder's dumps of the last generation in base64, within the size limit."""
    generations = sorted(glob.glob(glob.escape(run) + "/logs/[0-9]*"), key=_number)[-1:]
    paths = [path for folder in generations for path in glob.glob(glob.escape(folder) + "/*/nccl-[0-9]*")]
    share = DUMP_BYTES // max(1, len(paths))
    result = []
    for path in sorted(paths):
        try:
            data = read_bytes(path, share)
        except OSError:
            continue
        result.append({"path": path, "base64": base64.b64encode(data).decode()})
    return result


def events(run: str) -> list[dict[str, Any]]:
    """Return the runtime's events about failures, by time."""
    telling = ("rank_exit", "rank_hung", "host_lost", "generation_end", "job_end")
    result = []
    for path in glob.glob(os.path.join(glob.escape(run), "events", "*.jsonl")):
        for line in read(path, 4 << 20).splitlines():
            event = parse_object(line)
            if event.get("event") in telling:
                result.append(event)
    return sorted(result, key=lambda event: float(event.get("time", 0)))


def owner(path: str) -> dict[str, str]:
    """Return the host and local rank in the path."""
    match = _OF_RANK.search(path) or _OF_TORCHRUN.search(path)
    return {"host": match.group(2), "local": match.group(3)} if match else {"host": "", "local": ""}


def read(path: str, most: int) -> str:
    """Return the text; of a longer one its first quarter and the rest from its end."""
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= most:
                return file.read(most).decode(errors="replace")
            head = file.read(most // 4)
            file.seek(size - (most - most // 4))
            return (head + b"\n" + file.read(most)).decode(errors="replace")
    except OSError:
        return ""


def _text(path: str) -> str:
    return read(path, 1 << 20)


def _number(path: str) -> tuple[int, str]:
    name = os.path.basename(path)
    return (int(name) if name.isdigit() else 0, name)
