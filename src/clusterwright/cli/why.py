"""`wright why LOG...|JOB|NODE`: which of them a word is, and the answer."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from clusterwright.cli._connection import connection_to, find_cluster
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.diagnose.diagnosis import Diagnosis
    from clusterwright.diagnose.pending import Waiting
    from clusterwright.diagnose.reading import Source
    from clusterwright.edge.ssh import Remote

_JOB = re.compile(r"\d+(?:_\d+)?|last")
_OUTPUT = re.compile(r".*?slurm-(\d+)\.out")
_MARKUP = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}  # of a log's own; JSON reads it as it was


def why(
    *sources: Annotated[str, Parameter(allow_leading_hyphen=True)],
    lang: Literal["en", "zh"] | None = None,
    all: Annotated[bool, Parameter(name="--all")] = False,  # noqa: A002 (the flag's name)
    json: bool = False,
    cluster: Path | None = None,
) -> int:
    """Say why a run failed, a job waits or a host is out, with the lines that show it.

    Exit code: 0 a cause is named, or nothing failed; 1 something failed that is not known.

    Parameters
    ----------
    sources
        Logs: files (packed ones too), folders, or `-` for what is piped in; else a job or a host of the cluster.
    lang
        The language of the answer; else that of $LC_ALL, $LC_MESSAGES or $LANG.
    all
        All that was found, with what only follows from it and what is harmless.
    json
        The diagnoses as one JSON document.
    cluster
        The cluster file, for a job or a host; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    if wrong := [source for source in sources if source.startswith("-") and source != "-"]:
        raise WrightError.from_code(
            "unknown-name",
            _("there is no option {wrong}", wrong=wrong[0]),
            _("see wright why --help"),
            exit_code=EXIT_USAGE,
        )
    if not sources and sys.stdin.isatty():
        raise WrightError.from_code(
            "missing-key",
            _("there is no log to read"),
            _("give a log, a folder, `-`, a job or a host"),
            exit_code=EXIT_USAGE,
        )
    spoken = lang or language()
    if not sources or any(source == "-" or Path(source).exists() or "/" in source for source in sources):
        return answer(_of_logs(sources or ("-",), spoken), spoken, everything=all, as_json=json)
    return _why_cluster(sources, lang=spoken, everything=all, as_json=json, cluster=cluster)


def _of_logs(names: Iterable[str], lang: str) -> list[Diagnosis]:
    """The diagnoses of files, folders and the stream."""
    from clusterwright.diagnose.reading import find_sources

    return of_sources(find_sources(names), lang)


def of_sources(sources: list[Source], lang: str) -> list[Diagnosis]:
    """The diagnoses of lines from anywhere; what cannot be read is said on stderr."""
    from clusterwright.diagnose.flight import recorded
    from clusterwright.diagnose.judge import judge
    from clusterwright.diagnose.knowledge import knowledge
    from clusterwright.diagnose.reading import read

    evidence = read(recorded(sources), knowledge())
    for name, reason in evidence.unread:
        sys.stderr.write(f"{_printable(name)} is not read: {_printable(reason)}\n")
    return judge(evidence, lang)


def answer(diagnoses: list[Diagnosis], lang: str, *, everything: bool, as_json: bool) -> int:
    """Show them; the exit code says whether a cause is named."""
    from clusterwright.diagnose.diagnosis import document
    from clusterwright.diagnose.report import coloured, format_report, uncolored

    if as_json:
        text = dumps(document(diagnoses), ensure_ascii=lang != "zh", indent=2)
        sys.stdout.write(text.translate(_MARKUP) + "\n")
    else:
        paint = coloured if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else uncolored
        sys.stdout.write(format_report(diagnoses, lang, everything=everything, paint=paint) + "\n")
    return EXIT_FAILED if diagnoses and diagnoses[0].kind == "unknown" else EXIT_OK


def language() -> str:
    """`zh` where the locale is Chinese."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.startswith("zh") else "en"
    return "en"


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _why_cluster(
    targets: Sequence[str], *, lang: str, everything: bool, as_json: bool, cluster: Path | None
) -> int:
    """Ask the cluster about each target, one after another; the worst exit code."""
    cluster_config = find_cluster(cluster)
    remote = connection_to(cluster_config)
    return max(
        _explain_name(cluster_config, remote, target, lang, everything=everything, as_json=as_json)
        for target in targets
    )


def _explain_name(
    cluster: Cluster, remote: Remote, name: str, lang: str, *, everything: bool, as_json: bool
) -> int:
    if not _JOB.fullmatch(name) and name in {host.name for host in cluster.hosts()}:
        diagnoses = of_node(cluster, remote, name, lang)
    elif waiting := waits(cluster, remote, _job(name)):
        return _show_waiting(waiting, _job(name), lang, as_json=as_json)
    else:
        diagnoses = of_job(cluster, remote, _job(name), lang)
    return answer(diagnoses, lang, everything=everything, as_json=as_json)


def _job(name: str) -> str:
    match = _OUTPUT.fullmatch(name)
    return match[1] if match else name


def waits(cluster: Cluster, remote: Remote, job: str) -> Waiting | None:
    """Why the job waits; None where Slurm has none of that id that does."""
    from clusterwright.diagnose.gather.queue import gather_facts
    from clusterwright.diagnose.pending import explain
    from clusterwright.slurm.jobs import job_state_of
    from clusterwright.slurm.states import is_pending

    if not job[:1].isdigit():
        return None
    facts = gather_facts(remote, cluster.control.name, job)
    state = job_state_of(facts.job)
    return explain(facts) if is_pending(state) or state == "CONFIGURING" else None


def of_job(cluster: Cluster, remote: Remote, job: str, lang: str) -> list[Diagnosis]:
    """The diagnoses of a job that runs or has ended.

    Raises:
        WrightError: neither Slurm nor the runs' folder knows it.
    """
    from clusterwright.diagnose.gather.ended import gather
    from clusterwright.diagnose.gather.run_findings import add_run_findings
    from clusterwright.launch.run import runs_folder
    from clusterwright.slurm.states import is_allocated

    runs = runs_folder(cluster) if cluster.shared_folder else "/nowhere"
    evidence = gather(remote, cluster.control.name, runs, job)
    if not evidence.state and not evidence.run:
        raise WrightError.from_code(
            "no-such-job",
            _("neither Slurm's records nor {runs} know a job, a run or a host `{job}`", runs=runs, job=job),
            _("`wright jobs` lists jobs and runs; a file or a folder of logs is named by its path"),
            exit_code=EXIT_USAGE,
        )
    for host in evidence.unreachable:
        sys.stderr.write(f"{host} does not answer: what its kernel and slurmd said is not seen\n")
    is_fine = is_allocated(evidence.state) or evidence.state in ("COMPLETED", "CANCELLED")
    return add_run_findings(evidence, of_sources(list(evidence.sources), lang), lang, fine=is_fine)


def of_node(cluster: Cluster, remote: Remote, node: str, lang: str) -> list[Diagnosis]:
    """Why a host is as it is, then what its own logs tell of."""
    from clusterwright.diagnose.gather.node import lately, record
    from clusterwright.diagnose.node import explain
    from clusterwright.diagnose.node.diagnoses import follows, node_diagnoses, past
    from clusterwright.edge.clock import SystemClock

    node_record = record(remote, cluster.control.name, node)
    node_logs = lately(remote, node, int(SystemClock().now()), node_record)
    now = node_diagnoses(
        explain(node_record.record),
        of_sources(list(node_logs.after_resume), lang),
        lang,
        answers=node_logs.answers,
        follows=follows(),
    )
    return [
        *now,
        *(past(of_sources(list(node_logs.before_resume), lang), lang) if node_logs.before_resume else ()),
    ]


def _show_waiting(waiting: Waiting, job: str, lang: str, *, as_json: bool) -> int:
    from clusterwright.diagnose.pending.report import diagnosis, format_waiting

    if as_json:
        return answer([diagnosis(waiting, job, lang)], lang, everything=False, as_json=True)
    sys.stdout.write(format_waiting(waiting, job, lang) + "\n")
    return 0
