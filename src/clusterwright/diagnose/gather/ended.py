"""Gather the records, logs, host logs and metrics of a job that is running or has ended."""

from __future__ import annotations

import base64
import json
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from clusterwright.config.names import expand_valid
from clusterwright.diagnose.gather import measure
from clusterwright.diagnose.gather.decay import decay_sources
from clusterwright.diagnose.gather.live import live
from clusterwright.diagnose.gather.sections import INDENT, sections
from clusterwright.diagnose.reading import LogSource, of_bytes, of_text
from clusterwright.diagnose.reading.read import OverBudgetError, TimeBudget
from clusterwright.diagnose.reading.times import moment
from clusterwright.edge.bundler import RUN_METRICS, RUN_TEXTS
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.monitor.gather.gather import PROMETHEUS
from clusterwright.onhost.lib import journal
from clusterwright.onhost.lib.run_outcome import CANCELED, FINISHED, RUNNING, STARTING
from clusterwright.onhost.lib.safe_reader import parse_document, parse_object
from clusterwright.slurm import client
from clusterwright.slurm.job_records import parse_jobs
from clusterwright.slurm.mpi_plugins import list_mpi_plugins
from clusterwright.slurm.nodes import parse_node
from clusterwright.slurm.records import Record, number, split_lines, stamp
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
_OUTPUT = re.compile(r"(?:^|\s)(?:-o|-e|--output|--error)[= ]?(\S+)")
_JOB_ID = re.compile(r"JobId=(\d+(?:[_+]\d+)?)\b")
_WORD = re.compile(r"[\w-]+(?:\.[\w-]+)*")
LIMIT_S = 10.0
FILES_S = 220.0  # to read the files of a job as its user, who can stop the reader
START_S = 20.0  # for the connection and the start of a program

MARGIN_S = 15  # consequences of a job's end are logged within seconds; later lines belong to other jobs
_LEAST_FIELDS = 3  # begin, end, hosts


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

    @property
    def is_fine(self) -> bool:
        """True while the run or job runs, or if it ended without a failure."""
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
    """Gather everything about one job; missing parts are left out, hosts that do not answer are in `unreachable`.

    slurmctld's log is searched as far as the budget of processor time allows, and the job's files are read for
    `files_s`.

    Raises:
        WrightError: the control host cannot be reached.
    """
    end = time.monotonic() + files_s
    files = _files(remote, control, (runs, job, ""), (), end)
    ids = [str(job_id) for job_id in files.get("jobs", [])][-MOST_JOBS:] or [job]
    command = _query_script(",".join(ids))
    parts = sections(
        checked(Host(remote, control).run(f"sh -c {shlex.quote(command)}"), control, "sacct").out
    )
    named = outputs(parts, ids[-1])
    if not files["texts"] and named:
        files = _files(remote, control, (runs, job, user_of(parts)), named, end)
    when = window(parts)
    state = state_of(parts)
    now = measure.HOST if state == "RUNNING" else ""
    texts, unreachable = on_hosts(remote, when.hosts, when.begin, when.end, now)
    metric_sources = query_metrics(remote, control, when, ids[-1], str(files["run"]).rpartition("/")[2])
    live_sources = live(remote, when.hosts, ids[-1]) if state == "RUNNING" else ()
    sources = (
        *_of_files(files),
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
    """Return what the program on the control host prints about the runs folder, the job and its user, until `end`."""
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


def user_of(parts: Mapping[str, str]) -> str:
    """Return the uid of the job's user by Slurm's accounting, which no job name can forge; "" without accounting."""
    return parts.get("line", "").partition("|")[0].strip()


def outputs(parts: Mapping[str, str], job: str) -> tuple[str, ...]:
    """Paths of the job's output: from its record, else from its submit line."""
    record = _record(parts)
    paths = [record["StdOut"], record["StdErr"]]
    _uid, _, named = parts.get("line", "").partition("\n")[0].partition("|")
    folder, _, line = named.partition("|")
    if not any(paths) and folder:
        patterns = _OUTPUT.findall(line) or ["slurm-%j.out"]
        paths = [pattern if pattern.startswith("/") else f"{folder}/{pattern}" for pattern in patterns]
    return tuple(
        dict.fromkeys(
            path.replace("%j", job).replace("%A", job) for path in paths if path and path != "/dev/null"
        )
    )


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
    """Return an event of a run as one line: its name, then its fields."""
    fields = {
        key: value
        for key, value in event.items()
        if key not in {"event", "time", "stacks"} and value is not None
    }
    return f"{event.get('event')} " + " ".join(f"{key}={value}" for key, value in fields.items())


def on_hosts(
    remote: Remote, hosts: Sequence[str], begin: int, end: int, now: str = ""
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Read the kernel, daemon and health-check logs of hosts between two times; return them and the unreachable hosts.

    `now` is shell code for further parts, about the state of a host at this moment.
    """
    when = ("-o", "short-iso", "--since", f"@{begin}", "--until", f"@{end}")
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
    return texts, tuple(host for host, result in answers.items() if not result.ok)


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
    """Return one source for each host with conspicuous metrics; none if Prometheus does not answer."""
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


def state_of(parts: Mapping[str, str]) -> str:
    """Return the job's state, from accounting, else from slurmctld."""
    rows = [row for row in _rows(parts) if "." not in row.get("JobID", ".")]
    last = rows[-1].get("State", "") if rows else _record(parts)["JobState"]
    return last.partition(" ")[0]


def of_slurm(
    parts: Mapping[str, str], ids: Sequence[str], when: Window, budget: TimeBudget
) -> Iterator[LogSource]:
    """Yield sources of accounting records, node reasons and slurmctld's log lines from the job's time."""
    records = [" ".join(f"{key}={value}" for key, value in row.items() if value) for row in _rows(parts)]
    yield of_text("sacct", "\n".join(records), kind="sacct")
    yield of_text("scontrol show job", parts.get("job", ""), kind="scontrol")
    yield of_text("srun --mpi=list", parts.get("mpi", ""), kind="scontrol")
    if steps := parts.get("memory", "").strip():
        yield of_text("sstat", f"{_limit(parts)}\n{steps}", kind="output")
    yield of_text("slurmctld", "\n".join(_log(parts, ids, when, budget)), kind="slurm")
    for line in split_lines(parts.get("nodes", "")):
        node = parse_node(line).record
        if node["NodeName"] in when.hosts and when.contains_reason(node["Reason"]):
            text = node.quoted("NodeName", "State", "Reason")
            yield of_text("scontrol show node", text, kind="scontrol", host=node["NodeName"])


def _limit(parts: Mapping[str, str]) -> str:
    """Return the memory limit of the job as its record has it, for the output of sstat."""
    record = _record(parts)
    fields = ((name, record[name]) for name in ("MinMemoryNode", "AllocTRES", "TRES"))
    return " ".join(f"{name}={value}" for name, value in fields if value)


def _rows(parts: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the accounting records of the job and its steps."""
    names, *lines = split_lines(parts.get("sacct", "")) or [""]
    return [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]


def _record(parts: Mapping[str, str]) -> Record:
    """Return slurmctld's record of the job; of an array, the first."""
    return next(iter(parse_jobs(parts.get("job", ""))), Record({}))


def _log(parts: Mapping[str, str], ids: Sequence[str], when: Window, budget: TimeBudget) -> list[str]:
    """Return slurmctld's lines about the jobs or their hosts, in time linear in the text: a user has many job ids."""
    jobs, hosts = frozenset(ids), frozenset(when.hosts)
    lines = []
    budget.begin_source()
    with suppress(OverBudgetError):
        for line in dict.fromkeys(split_lines(parts.get("slurmctld", ""))):  # the journal may repeat the file
            budget.add(len(line))
            budget.check()
            if not (jobs.isdisjoint(_job_names(line)) and hosts.isdisjoint(_host_names(line))):
                lines += [line] if when.contains_line(line) else []
    return lines


def _job_names(line: str) -> Iterator[str]:
    """Yield the ids of the jobs in a line; a part of a heterogeneous job also as the job."""
    for job_id in _JOB_ID.findall(line):
        yield from (job_id, job_id.partition("+")[0])


def _host_names(line: str) -> Iterator[str]:
    """Yield all words of a line that can be a host's name, with and without domain."""
    for word in _WORD.findall(line):
        yield from (word, word.partition(".")[0])


@dataclass(frozen=True, slots=True)
class Window:
    """The time of a job in epoch seconds, and its hosts; `zone_s` is the control host's offset from UTC."""

    begin: int
    end: int
    zone_s: int
    hosts: tuple[str, ...]

    def contains(self, seconds: float) -> bool:
        """Return whether a time is in the window, read as UTC or as local time."""
        return any(self.begin - 1 <= epoch_s <= self.end for epoch_s in (seconds, seconds - self.zone_s))

    def contains_line(self, line: str) -> bool:
        """Return whether a log line is in the window; a line without a time is."""
        logged_at = moment(line, 0)
        return logged_at is None or self.contains(logged_at.seconds)

    def contains_reason(self, reason: str) -> bool:
        """Return whether a node's reason, which ends in `[user@time]`, was set in the window."""
        when = stamp(reason.rpartition("@")[2].rstrip("]"))
        return when is not None and self.contains(when)


def window(parts: Mapping[str, str]) -> Window:
    """Return the time of all attempts of a job, from accounting and slurmctld; until now if it has not ended.

    Both print columns without any text of a user: a comment can add fields to slurmctld's record of the job.
    """
    now, local = [*parts.get("now", "0 ").split(), "", ""][:2]
    now_s = number(now) or 0
    lines = [line for name in ("window", "times") for line in split_lines(parts.get(name, ""))]
    rows = [row for row in (line.split("|") for line in lines) if len(row) >= _LEAST_FIELDS]
    begins = [begin for begin in (number(row[0]) for row in rows) if begin is not None]
    ends = [end for end in (number(row[1]) for row in rows) if end is not None and end <= now_s]
    lists = [row[2] for row in rows if row[2] and "assigned" not in row[2]]
    hosts = tuple(dict.fromkeys(host for node_list in lists for host in expand_valid(node_list)))
    zone_s = (stamp(local) or now_s) - now_s
    return Window(min(begins, default=now_s), (max(ends) if ends else now_s) + MARGIN_S, zone_s, hosts)
