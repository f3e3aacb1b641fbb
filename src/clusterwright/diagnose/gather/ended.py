"""Gather the records, logs, host logs and metrics of a job that is running or has ended."""

from __future__ import annotations

import base64
import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from clusterwright.diagnose.gather import measure
from clusterwright.diagnose.gather.decay import decay_sources
from clusterwright.diagnose.gather.live import live
from clusterwright.diagnose.gather.sections import INDENT, sections
from clusterwright.diagnose.gather.slurm_records import Window, of_slurm, outputs, state_of, user_of, window
from clusterwright.diagnose.reading import LogSource, of_bytes, of_text
from clusterwright.diagnose.reading.journal_text import entry_prefix
from clusterwright.diagnose.reading.read import TimeBudget
from clusterwright.edge.bundler import RUN_METRICS, RUN_TEXTS
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.monitor.gather.gather import PROMETHEUS
from clusterwright.onhost.lib import journal
from clusterwright.onhost.lib.run_outcome import CANCELED, FINISHED, RUNNING, STARTING
from clusterwright.onhost.lib.safe_reader import parse_document, parse_object
from clusterwright.slurm import client
from clusterwright.slurm.mpi_plugins import list_mpi_plugins
from clusterwright.slurm.states import is_allocated

MOST_JOBS = 1000  # job ids of a run; of more, the last ones
MOST_HOSTS = 128  # hosts whose logs are read; of a larger job, the first ones
_COLUMNS = "JobID,JobName,State,ExitCode,DerivedExitCode,NodeList,Start,End,Elapsed,Timelimit,ReqMem,MaxRSS"
_SCRIPT = """
part() {{ echo "@@ $1"; shift; timeout 20 "$@" 2>/dev/null | {indent}; }}
part now date '+%s %Y-%m-%dT%H:%M:%S'
part job {job}
part sacct {records}
part line {line}
export SLURM_TIME_FORMAT=%s
part window {window}
part times {times}
part memory {memory}
unset SLURM_TIME_FORMAT
part nodes {nodes}
part mpi sh -c '{mpi} 2>&1'
log=$({config} 2>/dev/null | sed -n 's/^SlurmctldLogFile *= *//p')
part slurmctld sh -c '{slurmctld}; tail -n 20000 "$0"' "$log"
"""
_ON_HOST = """
part() {{ echo "@@ $1"; shift; timeout 20 "$@" 2>/dev/null | tail -n {lines} | {indent}; }}
part kernel {kernel}
part slurmd {slurmd}
part munge {munge}
part health {health}
"""
_LINES = 4000
LIMIT_S = 10.0
FILES_S = 220.0  # to read the files of a job as its user, who can stop the reader
START_S = 20.0  # for the connection and the start of a program


@dataclass(frozen=True)
class Gathered:
    """Log sources of a job, the events of its run, its hosts, and those that did not answer."""

    sources: tuple[LogSource, ...]
    state: str = ""
    hosts: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    run: str = ""
    events: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    run_state: str = ""  # of the run, which decides in its place what Slurm's state of a job cannot
    run_reason: str = ""
    user_sources: frozenset[str] = frozenset()  # names of the sources that the job's user can write

    @property
    def is_fine(self) -> bool:
        """Return True while the run or job runs, or if it ended without a failure; canceled is no failure."""
        if self.run_state:
            return self.run_state in (FINISHED, CANCELED, RUNNING, STARTING)
        return is_allocated(self.state) or self.state in ("COMPLETED", "CANCELLED")


def gather(
    remote: Remote,
    control: str,
    runs: str,
    job: str,
    budget: TimeBudget | None = None,
    files_s: float = FILES_S,
) -> Gathered:
    """Return everything about one job; missing parts are left out, hosts that do not answer are in `unreachable`.

    slurmctld's log is searched as far as the budget of processor time allows, and the job's files are read for
    `files_s`.

    Raises:
        WrightError: the control host cannot be reached.
    """
    end = time.monotonic() + files_s
    files = _files(remote, control, (runs, job, ""), (), end)
    ids = [str(job_id) for job_id in files.get("jobs", [])][-MOST_JOBS:] or [job]
    command = f"sh -c {shlex.quote(_query_script(','.join(ids)))}"
    parts = sections(checked(Host(remote, control).run(command), control, "sacct").out)
    named = outputs(parts, ids[-1])
    if not files["texts"] and named:
        files = _files(remote, control, (runs, job, user_of(parts)), named, end)
    when, state = window(parts), state_of(parts)
    now = measure.HOST if state == "RUNNING" else ""
    texts, unreachable = on_hosts(remote, when.hosts, when.begin, when.end, now)
    metric_sources = query_metrics(remote, control, when, ids[-1], str(files["run"]).rpartition("/")[2])
    live_sources = live(remote, when.hosts, ids[-1]) if state == "RUNNING" else ()
    user_sources = tuple(_of_files(files))
    sources = (
        *user_sources,
        *of_slurm(parts, ids, when, budget or TimeBudget()),
        *sources_of(texts),
        *metric_sources,
        *live_sources,
    )
    run_state, run_reason = [*map(str, files["state"]), "", ""][:2]
    return Gathered(
        sources,
        state,
        when.hosts,
        unreachable,
        str(files["run"]),
        tuple(files["events"]),
        run_state,
        run_reason,
        frozenset(source.name for source in user_sources),
    )


def _query_script(jobs: str) -> str:
    commands = {
        "job": client.show_job(jobs),
        "records": client.accounting(jobs, _COLUMNS, "-D"),
        "line": client.accounting(jobs, "UID,WorkDir,SubmitLine", "-X", "-n"),
        "window": client.accounting(jobs, "Start,End,NodeList,JobID", "-X", "-n", "-D"),
        "memory": client.step_memory(jobs.rpartition(",")[2]),
        "times": client.queue(("start", "end", "hosts"), numbers=jobs.split(",")),
        "nodes": client.show_nodes(),
        "mpi": list_mpi_plugins(),
        "config": client.show_config(),
    }
    return _SCRIPT.format(
        indent=INDENT,
        slurmctld=slurmctld_log(),
        **{name: client.line(argv) for name, argv in commands.items()},
    )


def slurmctld_log() -> str:
    """Return the shell command for slurmctld's last lines in the journal."""
    return journal.shell(journal.of_unit("slurmctld.service", "-o", "short-iso", "-n", "20000"))


def _files(
    remote: Remote, control: str, of_job: tuple[str, str, str], named: Sequence[str], end: float
) -> dict[str, Any]:
    """Return what the program on the control host prints about the runs folder, the job and its user, until `end`.

    Parts that are missing or malformed are empty.
    """
    seconds = max(0.0, end - time.monotonic())
    arguments = (*of_job, f"{seconds:.1f}", *named)
    result = Host(remote, control).run_program(RUN_TEXTS, *arguments, timeout_s=seconds + START_S)
    files: dict[str, Any] = {
        "run": "",
        "state": [],
        "jobs": [],
        "events": [],
        "texts": [],
        "dumps": [],
        "decay": [],
    }
    answer = parse_object(result.out)  # without Python or the file, Slurm's records remain
    for key, empty in files.items():
        if isinstance(answer.get(key), type(empty)):
            files[key] = answer[key]
    for key, fields in (
        ("texts", ("path", "text", "host")),
        ("dumps", ("path", "base64")),
        ("events", ()),
        ("decay", ("host", "text")),
    ):
        files[key] = [row for row in files[key] if _has_texts(row, fields)]
    return files


def _has_texts(row: Any, fields: Sequence[str]) -> bool:
    return isinstance(row, Mapping) and all(isinstance(row.get(field), str) for field in fields)


def _of_files(files: Mapping[str, Any]) -> Iterator[LogSource]:
    for file in files["texts"]:
        yield of_text(file["path"], file["text"], host=file["host"], rank="")
    for file in files["dumps"]:
        with suppress(ValueError):
            yield of_bytes(file["path"], base64.b64decode(file["base64"]))
    yield from decay_sources((row["host"], row["text"]) for row in files["decay"])
    if files["events"]:
        yield of_text("events of the run", "\n".join(map(event_line, files["events"])))


def event_line(event: Mapping[str, Any]) -> str:
    """Return an event of a run as one line: its name, then its fields except `time` and `stacks`."""
    fields = {
        key: value
        for key, value in event.items()
        if key not in {"event", "time", "stacks"} and value is not None
    }
    return f"{event.get('event')} " + " ".join(f"{key}={value}" for key, value in fields.items())


def on_hosts(
    remote: Remote, hosts: Sequence[str], begin: int, end: int | None, now: str = ""
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Read the kernel, daemon and health-check logs of hosts (at most MOST_HOSTS) between two times.

    Return them by host and part, and the unreachable hosts. Without an end, the logs are read to their last line.
    `now` is shell code for further parts, about the state of a host at this moment.
    """
    span = ("--since", f"@{begin}", *(() if end is None else ("--until", f"@{end}")))
    when = ("-a", "-o", "json", "--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_PID", *span)
    commands = {
        "kernel": journal.kernel(*when),
        "slurmd": journal.of_root_unit("slurmd.service", *when),
        "munge": journal.of_unit("munge.service", *when),
        "health": journal.of_hooks(*when),
    }
    texts_of = {name: journal.shell(argv) for name, argv in commands.items()}
    script = _ON_HOST.format(indent=INDENT, lines=_LINES, **texts_of) + now
    command = f"sh -c {shlex.quote(script)}"
    answers = fan_out(hosts[:MOST_HOSTS], lambda host: Host(remote, host).run(command, timeout_s=30))
    texts = {host: sections(result.out) for host, result in answers.items() if result.ok}
    for host, parts in texts.items():
        parts |= {name: _journal_text(parts.get(name, ""), host) for name in commands}
    return texts, tuple(host for host, result in answers.items() if not result.ok)


def _journal_text(output: str, host: str) -> str:
    """Return entries of the journal (JSON) as one line for each: a newline in an entry begins no line of its own."""
    entries = filter(None, map(journal.parse_entry, output.split("\n")))
    return "\n".join(
        f"{entry_prefix(entry, host)}{line}"
        for entry in entries
        for line in journal.message_lines(entry.text)
    )


def sources_of(texts: Mapping[str, Mapping[str, str]]) -> Iterator[LogSource]:
    """Yield the logs of hosts as sources, each with its kind."""
    kinds = {
        "kernel": "kernel",
        "slurmd": "slurm",
        "munge": "slurm",
        "munge now": "slurm",
        "health": "verdict",
        **measure.KINDS,
    }
    for host, parts in texts.items():
        for name, kind in kinds.items():
            if parts.get(name):
                yield of_text(f"{host} {name}", parts[name], kind=kind, host=host)


def query_metrics(remote: Remote, control: str, when: Window, job: str, run: str) -> tuple[LogSource, ...]:
    """Query Prometheus on the control host for a job's metrics; return a source for each host with conspicuous ones.

    Empty if Prometheus does not answer.
    """
    request = {"url": PROMETHEUS, "limit_s": LIMIT_S, "begin": when.begin, "end": when.end}
    request |= {"hosts": list(when.hosts), "job": job, "run": run}
    result = Host(remote, control).run_program(RUN_METRICS, json.dumps(request), timeout_s=2 * LIMIT_S)
    lines_by_host: Any = {}
    with suppress(ValueError):  # without Python, Slurm's records and logs remain
        lines_by_host = parse_document(result.out or "{}")
    return metrics(lines_by_host if isinstance(lines_by_host, Mapping) else {})


def metrics(lines_by_host: Mapping[str, Sequence[str]]) -> tuple[LogSource, ...]:
    """Return lines about metrics as sources, one for each host."""
    return tuple(
        of_text(f"{host or 'run'} metrics", "\n".join(lines), kind="metric", host=host)
        for host, lines in lines_by_host.items()
        if isinstance(lines, list) and lines and all(isinstance(line, str) for line in lines)
    )
