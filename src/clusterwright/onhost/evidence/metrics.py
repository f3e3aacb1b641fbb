"""Prints Prometheus's records of a job's failure, as lines (standard library, Python 3.8; sent to the controller).

Only signs of a failure become a line; the queries hold the thresholds. Names of metrics are those of
docs/decisions/0010-watch.md.
"""

from __future__ import annotations

import json
import sys
import time
from string import Template
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from clusterwright.onhost.snapshot.monitors import query_prometheus

LEAST_S = 60  # shortest period: two or more samples


class Question(NamedTuple):
    """A PromQL query for a sign of failure, and the line to print for each row of its result.

    Placeholders of the query: `$n` the job's hosts, `$t` its period, `$s` that in steps of 15 s, `$b` its start, `$j`
    the job, `$r` its run.
    """

    query: str
    message: str


def grown(family: str) -> str:
    """Return the PromQL for a counter's growth during the job; a counter that did not exist at its start began at 0."""
    most = f"max_over_time({family}{{$n}}$t)"
    return f"({most} - ({family}{{$n}} @ $b or 0 * {most}))"


def unanswered(family: str) -> str:
    """Return the PromQL for a service that did not answer two probes in a row.

    The exporter probes every 30 s, so one failed probe is 0 for less than 45 s; on a busy host it proves nothing.
    """
    return f"min_over_time(max_over_time({family}{{$n}}[45s])$s) == 0"


# Our thresholds: data center GPUs throttle from 85 to 95 degrees; every boot has a few PCIe replays;
# no step takes 300 s.
QUESTIONS = (
    Question(grown("clusterwright_gpu_xid_total") + " > 0", "GPU {gpu} had Xid {xid}, times: {value:.0f}"),
    Question(grown("gpu:ecc_uncorrected:total") + " > 0", "GPU {gpu} had {value:.0f} uncorrectable memory errors"),
    Question("max_over_time(gpu:remap_failed{$n}$t) > 0", "GPU {gpu} could not remap a row"),
    Question(grown("gpu:nvlink_errors:total") + " > 0", "GPU {gpu} had {value:.0f} NVLink errors"),
    Question(grown("gpu:pcie_replays:total") + " > 100", "GPU {gpu} had {value:.0f} PCIe replays"),
    Question("max_over_time(gpu:temperature:celsius{$n}$t) >= 90", "GPU {gpu} was as hot as {value:.0f} degrees"),
    Question(
        'avg_over_time(gpu:throttled{$n,reason!="power"}$t) > 0.05',
        "GPU {gpu} was slowed down for {percent:.0f}% of the time: {reason}",
    ),
    Question(
        "max_over_time(clusterwright_job_oom_kills_total{job=$j}$t) > 0",
        "processes of job {job} were killed for memory, times: {value:.0f}",
    ),
    Question(
        "min_over_time(clusterwright_gpus_seen{$n}$t) < min_over_time(clusterwright_gpus_declared{$n}$t)",
        "no more than {value:.0f} of its GPUs were seen",
    ),
    Question(unanswered("clusterwright_munge_answers"), "munge did not answer"),
    Question(unanswered("clusterwright_slurmd_answers"), "slurmd did not answer"),
    Question("min_over_time(clusterwright_file_system_answers{$n}$t) == 0", "file system {path} did not answer"),
    Question(
        'max_over_time(clusterwright_verdict{$n,status="fail"}$t) > 0', "the check {check} failed: {part}"
    ),
    Question(
        "max_over_time(clusterwright_run_stalled_seconds{run=$r}$t) > 300",
        "run {run} made no step for {value:.0f} s",
    ),
)  # fmt: skip


def main() -> int:
    """Print the signs of failure in a job's Prometheus metrics as JSON: lines by host; return 0.

    If the query fails, {} is printed, and the error on stderr.
    """
    request = json.loads(sys.argv[1])
    try:
        lines = collect_lines(request, time.monotonic() + float(request["limit_s"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"Prometheus: {error}\n")
        lines = {}
    json.dump(lines, sys.stdout)
    return 0


def collect_lines(request: Dict[str, Any], end: float) -> Dict[str, List[str]]:
    """Query Prometheus until `end` (monotonic), and return the lines that its answers give, by host.

    Lines without a host are under "".
    """
    lines_by_host: Dict[str, List[str]] = {}
    for question, query in queries(request):
        for labels, value in query_prometheus(request["url"], query, end):
            names = _Names({**labels, "value": value, "percent": 100 * value})
            lines_by_host.setdefault(labels.get("node", ""), []).append(
                "metric: " + question.message.format_map(names)
            )
    return lines_by_host


def queries(request: Dict[str, Any]) -> Iterator[Tuple[Question, str]]:
    """Yield each question about a job's metrics with its PromQL query.

    Without a run or hosts, those that need them are left out.
    """
    period_s, end = max(LEAST_S, request["end"] - request["begin"]), request["end"]
    places = {
        "n": "node=~" + json.dumps("|".join(request["hosts"])),
        "t": f"[{period_s}s] @ {end}",
        "s": f"[{period_s}s:15s] @ {end}",
        "b": str(request["begin"]),
        "j": json.dumps(request["job"]),
        "r": json.dumps(request["run"]),
    }
    for question in QUESTIONS:
        if (request["run"] or "$r" not in question.query) and (
            request["hosts"] or "$n" not in question.query
        ):
            yield question, Template(question.query).substitute(places)


class _Names(Dict[str, Any]):
    """The labels of a row, for a Question's message; a missing label is ""."""

    def __missing__(self, _: str) -> str:
        return ""
