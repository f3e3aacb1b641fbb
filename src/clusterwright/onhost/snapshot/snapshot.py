"""All that a picture is made of, as one JSON document (standard library, Python 3.8).

Sent to `python3 -` on the control host, with one JSON object as its argument: the folder of runs, the addresses of
Prometheus and Alertmanager, and how many seconds each part may take. All parts are asked at once; what does not answer
is named in `silent`, and the others are there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, Callable, Dict, List

from clusterwright.onhost.snapshot import active_runs, monitors, programs

Document = Dict[str, Any]


def main() -> int:
    """Print the document."""
    asked = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps(document(asked)) + "\n")
    return 0


def document(asked: Dict[str, Any]) -> Document:
    """The answers of all parts."""
    limit_s = float(asked.get("limit_s", 10))
    mark = "\x1ew" + os.urandom(8).hex() + "\x1e"  # nobody could have put it into a job's name
    found: Document = {
        "schema": 1, "mark": mark, "now": time.time(), "said": {}, "silent": {}, "measures": {}, "alerts": [],
        "runs": {},
    }  # fmt: skip
    told: Dict[str, Any] = {}
    parts: List[Callable[[], None]] = [
        lambda: _queue(found, asked, mark, limit_s),
        *(
            _program(found, name, argv, limit_s)
            for name, argv in programs.commands(mark).items()
            if name != "jobs"
        ),
        lambda: _measures(found, told, asked, limit_s),
        lambda: _alerts(found, asked, limit_s),
    ]
    threads = [threading.Thread(target=part, daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run, values in told.items():
        if run in found["runs"]:
            found["runs"][run].update(values)
    return found


def _program(found: Document, name: str, argv: List[str], limit_s: float) -> Callable[[], None]:
    def part() -> None:
        answer = programs.said(argv, limit_s)
        found["said"][name] = answer.text
        if answer.why:
            found["silent"][name] = answer.why

    return part


def _queue(found: Document, asked: Dict[str, Any], mark: str, limit_s: float) -> None:
    """Jobs, and then the runs that those which run are of."""
    _program(found, "jobs", programs.commands(mark)["jobs"], limit_s)()
    names = [job.name for job in programs.jobs(found["said"]["jobs"], mark) if job.state == "RUNNING"]
    if asked.get("runs"):
        found["runs"], left = active_runs.look(asked["runs"], names, limit_s / 2)
        if left:
            found["silent"]["runs"] = f"{left} of {left + len(found['runs'])} runs were not read"


def _measures(found: Document, told: Dict[str, Any], asked: Dict[str, Any], limit_s: float) -> None:
    try:
        found["measures"], of_runs = monitors.measures(asked["prometheus"], limit_s)
        told.update(of_runs)
    except (OSError, ValueError, KeyError, TypeError) as why:
        found["silent"]["measures"] = _words(why)


def _alerts(found: Document, asked: Dict[str, Any], limit_s: float) -> None:
    try:
        found["alerts"] = monitors.alerts(asked["alertmanager"], limit_s)
    except (OSError, ValueError, KeyError, TypeError) as why:
        found["silent"]["alerts"] = _words(why)


def _words(why: Exception) -> str:
    return (
        str(why).splitlines()[0]
        if isinstance(why, OSError) and str(why)
        else "it says something else than expected"
    )
