"""Diagnose what a user names: logs, a job, a host of the cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clusterwright.config.cluster import Cluster
    from clusterwright.diagnose.diagnosis import Diagnosis
    from clusterwright.diagnose.pending import Waiting
    from clusterwright.diagnose.reading import LogSource
    from clusterwright.edge.ssh import Remote

    Warn = Callable[[str], None]


def _ignore(_text: str) -> None:
    """Do nothing with a warning."""


def log(*paths: str | Path, memory_bytes: int | None = None, warn: Warn = _ignore) -> list[Diagnosis]:
    """Return diagnoses of log files (also compressed), folders of logs, or `-` for standard input, likeliest first.

    `warn` receives a sentence for each file that could not be read, in whole or in part. `memory_bytes` is the memory
    limit of the job on each host, with which the memory in the output of `sstat` is compared.

    Raises:
        WrightError: `file-unreadable`: a file does not exist, or no file is a text file.
    """
    from clusterwright.diagnose.knowledge import blames_host
    from clusterwright.diagnose.reading import find_sources
    from clusterwright.diagnose.verification import with_doubt, with_verification

    runs = [str(path) for path in paths if str(path) != "-" and Path(path, "job.json").is_file()]
    sources = [*find_sources([str(path) for path in paths]), *_decay_of_runs(runs)]
    diagnoses = judge_sources(sources, require_text=True, memory_bytes=memory_bytes, warn=warn)
    of_runs = tuple(f"{run.rstrip('/')}/" for run in runs)
    kernel_logs = {source.name for source in sources if source.kind == "kernel"}
    return [
        with_verification(with_doubt(diagnosis, kernel_logs), lambda name: name.startswith(of_runs))
        if blames_host(diagnosis.mode)
        else diagnosis
        for diagnosis in diagnoses
    ]


def _decay_of_runs(folders: Sequence[str]) -> Iterator[LogSource]:
    """Yield a source of log lines on what became slowly worse in each of these runs; none if nothing did."""
    if not folders:
        return
    from clusterwright.diagnose.gather.decay import decay_sources
    from clusterwright.onhost.runs.run_decay import find_decays

    for folder in folders:
        yield from decay_sources((decay.host, decay.text) for decay in find_decays(folder))


def judge_sources(
    sources: Sequence[LogSource],
    *,
    require_text: bool = False,
    memory_bytes: int | None = None,
    warn: Warn = _ignore,
) -> list[Diagnosis]:
    """Return the diagnoses of log sources, the most probable first.

    `warn` receives a sentence for each source that could not be read, in whole or in part.

    Raises:
        WrightError: with `require_text`, every source is unreadable.
    """
    from clusterwright.diagnose.flight import recorded
    from clusterwright.diagnose.judge import judge
    from clusterwright.diagnose.knowledge import knowledge
    from clusterwright.diagnose.reading import read
    from clusterwright.errors import EXIT_USAGE, WrightError

    evidence = read(recorded(sources, warn=warn), knowledge(), memory_bytes=memory_bytes)
    for name, reason in evidence.unread:
        warn(_("cannot read {file}: {error}", file=name, error=reason))
    if require_text and sources and len(evidence.unread) == len(sources):
        raise WrightError.from_code(
            "file-unreadable",
            _("no log is readable, so there is no diagnosis"),
            _("name a log file, a folder of log files, or `-` for standard input"),
            exit_code=EXIT_USAGE,
        )
    for location in evidence.cut_short:
        warn(
            _(
                "{file}: the time budget is used up at line {line}; later lines are not part of the diagnosis",
                file=location.source,
                line=location.line,
            )
        )
    return judge(evidence)


def job(
    name: str, cluster: Cluster, remote: Remote | None = None, *, warn: Warn = _ignore
) -> list[Diagnosis]:
    """Return why a job or a run of the cluster is pending, or diagnoses of why it failed.

    Raises:
        WrightError: `no-such-job`: neither Slurm nor the runs folder has it; `unreachable`.
    """
    from clusterwright.diagnose.pending.report import diagnosis

    waiting = pending_reasons(name, cluster, remote)
    return [diagnosis(waiting, name)] if waiting else ended_job(name, cluster, remote, warn=warn)


def pending_reasons(name: str, cluster: Cluster, remote: Remote | None = None) -> Waiting | None:
    """Return why a job is pending, or its nodes are being configured.

    None if Slurm has no such job with this id, or if `name` is no job id.
    """
    from clusterwright.diagnose.gather.queue import gather_facts
    from clusterwright.diagnose.pending import explain
    from clusterwright.provision.apply import remote_of
    from clusterwright.slurm.jobs import job_state_of
    from clusterwright.slurm.states import is_pending

    if not name[:1].isdigit():
        return None
    facts = gather_facts(remote or remote_of(cluster), cluster.control.name, name)
    state = job_state_of(facts.job)
    return explain(facts) if is_pending(state) or state == "CONFIGURING" else None


def ended_job(
    name: str, cluster: Cluster, remote: Remote | None = None, *, warn: Warn = _ignore
) -> list[Diagnosis]:
    """Return the diagnoses of a job or run that runs or has ended, the likeliest first.

    `name` is its id or its run's name. `warn` is called with a text for each host whose logs are missing.

    Raises:
        WrightError: `no-such-job`: neither Slurm nor the runs folder has it.
    """
    from clusterwright.diagnose.gather.ended import gather
    from clusterwright.diagnose.gather.run_findings import add_run_findings
    from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
    from clusterwright.launch.listing import run_names
    from clusterwright.launch.run import runs_folder
    from clusterwright.provision.apply import remote_of

    runs = runs_folder(cluster) if cluster.shared_folder else "/nowhere"
    evidence = gather(remote or remote_of(cluster), cluster.control.name, runs, name)
    if not evidence.state and not evidence.run:
        raise WrightError.from_code(
            "no-such-job",
            _("neither Slurm nor {folder} has a job, run or node `{name}`", folder=runs, name=name),
            unknown_name_fix(
                name,
                [*(host.name for host in cluster.hosts()), *run_names(cluster, runs)],
                _("choose a job that `wright jobs` lists, or pass the path of a log"),
            ),
            exit_code=EXIT_USAGE,
        )
    for host_name in evidence.unreachable:
        warn(_("{host} does not respond: its kernel and slurmd logs are missing", host=host_name))
    return add_run_findings(evidence, judge_sources(evidence.sources, warn=warn))


def host(name: str, cluster: Cluster, remote: Remote | None = None) -> list[Diagnosis]:
    """Return the diagnoses of a host: its state in Slurm, failures in its logs, then those before its last resume.

    Causes in the logs come before the state if the node is not responding but answers SSH; a node in service whose
    logs have failures has only these. Last are the normal values of what was measured on the host now.
    """
    from clusterwright.diagnose.gather.node import lately, record
    from clusterwright.diagnose.node import explain
    from clusterwright.diagnose.node.diagnoses import follows, node_diagnoses, past
    from clusterwright.edge.clock import SystemClock
    from clusterwright.provision.apply import remote_of

    connection = remote or remote_of(cluster)
    asked = int(SystemClock().now())  # a second after the query would count new lines as old
    node_record = record(connection, cluster.control.name, name)
    node_logs = lately(connection, name, asked, node_record)
    judged = judge_sources(node_logs.after_resume)
    now = node_diagnoses(explain(node_record.record), judged, answers=node_logs.answers, follows=follows())
    normal = [diagnosis for diagnosis in judged if diagnosis.kind == "normal"]
    return [*now, *past(judge_sources(node_logs.before_resume)), *normal]
