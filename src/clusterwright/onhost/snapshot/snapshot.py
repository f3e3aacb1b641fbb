"""Collects a snapshot of the cluster as one JSON document (standard library, Python 3.8).

Sent to `python3 -` on the controller, with one JSON object as its argument: the runs folder, the URLs of Prometheus
and Alertmanager, and the time limit of each part. All parts run concurrently; those without a response are listed in
`silent`.
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
    """Print the cluster's present state as JSON, as far as the request in the first argument names it; return 0."""
    request = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps(document(request)) + "\n")
    return 0


def document(request: Dict[str, Any]) -> Document:
    """Return jobs, nodes, measurements, alerts and runs of the cluster, queried in parallel.

    A source that fails or takes too long is named in `silent`.
    """
    limit_s = float(request.get("limit_s", 10))
    separator = "\x1ew" + os.urandom(8).hex() + "\x1e"  # random, so no job name contains it
    result: Document = {
        "schema": 1, "mark": separator, "now": time.time(), "said": {}, "silent": {}, "measures": {}, "alerts": [],
        "runs": {},
    }  # fmt: skip
    run_metrics: Dict[str, Any] = {}
    parts: List[Callable[[], None]] = [
        lambda: _queue(result, request, separator, limit_s),
        *(
            _program(result, name, argv, limit_s)
            for name, argv in programs.commands(separator).items()
            if name != "jobs"
        ),
        lambda: _measures(result, run_metrics, request, limit_s),
        lambda: _alerts(result, request, limit_s),
    ]
    threads = [threading.Thread(target=part, daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run, values in run_metrics.items():
        if run in result["runs"]:
            result["runs"][run].update(values)
    return result


def _program(result: Document, name: str, argv: List[str], limit_s: float) -> Callable[[], None]:
    def part() -> None:
        answer = programs.run_program(argv, limit_s)
        result["said"][name] = answer.text
        if answer.reason:
            result["silent"][name] = answer.reason

    return part


def _queue(result: Document, request: Dict[str, Any], separator: str, limit_s: float) -> None:
    """Add the queue of Slurm to the snapshot's result, then the progress of the runs of running jobs.

    Runs that could not be read in time are counted in `silent`.
    """
    _program(result, "jobs", programs.commands(separator)["jobs"], limit_s)()
    names = [job.name for job in programs.jobs(result["said"]["jobs"], separator) if job.state == "RUNNING"]
    if request.get("runs"):
        result["runs"], unread_count = active_runs.read_runs(request["runs"], names, limit_s / 2)
        if unread_count:
            result["silent"]["runs"] = (
                f"{unread_count} of {unread_count + len(result['runs'])} runs were not read"
            )


def _measures(result: Document, run_metrics: Dict[str, Any], request: Dict[str, Any], limit_s: float) -> None:
    try:
        result["measures"], of_runs = monitors.measures(request["prometheus"], limit_s)
        run_metrics.update(of_runs)
    except (OSError, ValueError, KeyError, TypeError) as error:
        result["silent"]["measures"] = _error_text(error)


def _alerts(result: Document, request: Dict[str, Any], limit_s: float) -> None:
    """Add the alerts of Alertmanager or, as it refuses users who are no operators, those of Prometheus.

    An error of the last one is in `silent`; root reads Alertmanager only.
    """
    try:
        try:
            result["alerts"] = monitors.alerts(request["alertmanager"], limit_s)
        except OSError:
            if os.geteuid() == 0:
                raise
            result["alerts"] = monitors.firing_alerts(request["prometheus"], limit_s)
    except (OSError, ValueError, KeyError, TypeError) as error:
        result["silent"]["alerts"] = _error_text(error)


def _error_text(reason: Exception) -> str:
    return (
        str(reason).splitlines()[0] if isinstance(reason, OSError) and str(reason) else "unexpected response"
    )
