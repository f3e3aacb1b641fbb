"""`wright why LOG...|JOB|NODE`: diagnose logs, a job or a node."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from io import BufferedReader
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._live_names import RUNS_AND_HOSTS
from clusterwright.cli._show import show_error, show_text
from clusterwright.cli._wrapping import wrap_for_terminal
from clusterwright.diagnose.subjects import ended_job, host, log, pending_reasons
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError, closest_name
from clusterwright.i18n import _, current_language
from clusterwright.onhost.lib.clean_text import unfiltered

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.diagnose.diagnosis import Diagnosis
    from clusterwright.diagnose.pending import Waiting
    from clusterwright.edge.ssh import Remote

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_JOB = re.compile(r"\d+(?:_\d+)?|last")
_OUTPUT = re.compile(r".*?slurm-(\d+)\.out")
_LONGEST_TEXT = 200  # characters of a text in a message
_MARKUP = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}  # HTML characters of logs, escaped as in JSON


def why(
    *sources: Annotated[str, Parameter(allow_leading_hyphen=True), RUNS_AND_HOSTS],
    all: Annotated[bool, Parameter(name="--all")] = False,  # noqa: A002 (the flag's name)
    json: bool = False,
    mem: str = "",
    cluster: Path | None = None,
) -> int:
    """Explain why a run failed, a job is pending or a node is out of service, with the log lines as evidence.

    The output of commands is read like a log (sstat, iostat -x, ibstat, ibping, sinfo, nvidia-smi, apt, dnf, conda),
    with what is normal in it.

    Exit code: 0 a cause is known, or nothing failed; 1 the cause is unknown.

    Parameters
    ----------
    sources
        Log files (also compressed), folders, or - for stdin; or a run, or a job or node of the cluster.
    all
        Show all findings, also consequences and harmless ones.
    json
        Print the diagnoses as one JSON document.
    mem
        Memory limit of the job on each host, such as 64G, for the output of sstat; default: from the output, if there.
    cluster
        Cluster file, for a job or a node; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    """
    _require_names(sources)
    if not sources and sys.stdin.isatty():
        raise WrightError.from_code(
            "missing-key",
            _("no log, job or node is given"),
            _("pass a log, a folder, - for stdin, a job or a node"),
            exit_code=EXIT_USAGE,
        )
    sources = tuple(source if _is_file(source) else _local_run(source, cluster) for source in sources)
    for source in sources:
        if Path(source).is_file():
            _require_log(Path(source))
    if not sources or any(_is_file(source) for source in sources):
        if set(sources) <= {"-"}:
            _require_text()
        diagnoses = log(*(sources or ("-",)), memory_bytes=memory_limit(mem), warn=show_error)
        return answer(diagnoses, everything=all, as_json=json)
    return _why_cluster(sources, everything=all, as_json=json, cluster=cluster)


def _require_log(file: Path) -> None:
    """Raise WrightError for a file that is known to be no log; one of another tool may be what kubectl prints."""
    from clusterwright.cli._file_kinds import require_file_kind
    from clusterwright.config.file_kinds import ARCHIVE, LOG, TOOL

    require_file_kind(file, _("a log, a job or a host"), LOG, ARCHIVE, TOOL)


def _require_no_text(sources: Sequence[str]) -> None:
    """Raise WrightError if a source is the text of a log in place of its file."""
    from clusterwright.cli._texts import is_prose
    from clusterwright.config.source import printable

    if texts := [source for source in sources if is_prose(source)]:
        text = " ".join(texts)
        raise WrightError.from_code(
            "usage",
            _(
                "`{text}` is a text; only files, jobs and hosts are read",
                text=printable(text[:_LONGEST_TEXT]),
            ),
            _("run `wright why -`, paste the text and press Ctrl-D")
            if len(text) > _LONGEST_TEXT or not text.isprintable()
            else _("pass the text through a pipe: {line}", line=f"echo {shlex.quote(text)} | wright why -"),
            exit_code=EXIT_USAGE,
        )


def _require_names(sources: Sequence[str]) -> None:
    """Raise WrightError if a source is an option, the text of a log, or an address such as https://host/log."""
    if options := [source for source in sources if source.startswith("-") and source != "-"]:
        raise WrightError.from_code(
            "unknown-name",
            _("this command has no option {option}", option=options[0]),
            _("see wright why --help"),
            exit_code=EXIT_USAGE,
        )
    if any(len(source.split()) > 1 for source in sources):
        _require_no_text(sources)
    if addresses := [source for source in sources if _ADDRESS.match(source)]:
        raise WrightError.from_code(
            "usage",
            _("`{address}` is an address; only files, jobs and hosts are read", address=addresses[0]),
            _(
                "download the file first: {line}",
                line=f"curl -fsS {shlex.quote(addresses[0])} | wright why -",
            ),
            exit_code=EXIT_USAGE,
        )


def _require_text() -> None:
    """Raise WrightError if stdin is empty: the command before the pipe printed nothing, which is no healthy log."""
    if isinstance(sys.stdin.buffer, BufferedReader) and not sys.stdin.buffer.peek(1):
        raise WrightError.from_code(
            "file-unreadable",
            _("standard input is empty, so there is no diagnosis"),
            _("name a log file, a folder of log files, or `-` for standard input"),
            exit_code=EXIT_USAGE,
        )


def memory_limit(text: str) -> int | None:
    """Return the bytes of a memory limit as Slurm or Clusterwright writes it (`64G`, `64GiB`); None for no text.

    Raises:
        WrightError: `bad-quantity`: the text is no size.
    """
    if not text:
        return None
    from clusterwright.diagnose.outputs.value import parse_slurm_size
    from clusterwright.units import QuantityError, parse_size

    try:
        return parse_slurm_size(text) or parse_size(text)
    except QuantityError as error:
        raise WrightError.from_code(
            "bad-quantity", f"--mem: {error.message}", error.fix, exit_code=EXIT_USAGE
        ) from error


def _is_file(source: str) -> bool:
    """Return True for a file or what is named like one; `slurm-12.out` without a file is job 12."""
    if source == "-" or "/" in source or Path(source).exists():
        return True
    from clusterwright.diagnose.reading.finding import is_named_like_file

    return is_named_like_file(source) and not _OUTPUT.fullmatch(source)


def _local_run(name: str, cluster: Path | None) -> str:
    """Return the folder of a run on this machine; the name itself if there is none."""
    from clusterwright.cli._connection import local_run

    return str(local_run(name, cluster) or name)


def answer(diagnoses: list[Diagnosis], *, everything: bool, as_json: bool) -> int:
    """Print the diagnoses; return EXIT_FAILED if the first one is unknown, else EXIT_OK."""
    from clusterwright.diagnose.diagnosis import document
    from clusterwright.diagnose.report import colored, format_report, uncolored

    if as_json:
        text = dumps(document(diagnoses), ensure_ascii=current_language() == "en", indent=2)
        sys.stdout.write(text.translate(_MARKUP) + "\n")
    else:
        paint = colored if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else uncolored
        report = format_report(diagnoses, everything=everything, paint=paint)
        unfiltered(sys.stdout).write(wrap_for_terminal(report, sys.stdout) + "\n")
    return EXIT_FAILED if diagnoses and diagnoses[0].kind == "unknown" else EXIT_OK


def _why_cluster(targets: Sequence[str], *, everything: bool, as_json: bool, cluster: Path | None) -> int:
    """Diagnose each job or node of the cluster and print the results; return the worst exit code."""
    from clusterwright.cli._connection import cluster_of_run, connection_to

    cluster_config = cluster_of_run(targets[0], cluster)
    remote = connection_to(cluster_config)
    return max(
        _explain_name(cluster_config, remote, target, everything=everything, as_json=as_json)
        for target in targets
    )


def _explain_name(cluster: Cluster, remote: Remote, name: str, *, everything: bool, as_json: bool) -> int:
    hosts = [host.name for host in cluster.hosts()]
    if not _JOB.fullmatch(name) and name in hosts:
        return answer(host(name, cluster, remote), everything=everything, as_json=as_json)
    try:
        if waiting := pending_reasons(_job(name), cluster, remote):
            return _show_waiting(waiting, _job(name), as_json=as_json)
        diagnoses = ended_job(_job(name), cluster, remote, warn=show_error)
    except WrightError as error:
        if error.code == "unreachable" and (guess := closest_name(name, hosts)):
            raise _misspelled_host(name, guess, error) from error
        raise
    return answer(diagnoses, everything=everything, as_json=as_json)


def _misspelled_host(name: str, guess: str, error: WrightError) -> WrightError:
    """Return the error of a name like that of host `guess`, which may be a run that cannot be looked up now."""
    finding = error.findings[0]
    message = _(
        "the cluster file has no host `{name}`, and for runs: {error}", name=name, error=finding.message
    )
    fix = _("did you mean `{suggestion}`?", suggestion=guess)
    return WrightError.from_code(finding.code, message, f"{fix} {finding.fix}", exit_code=error.exit_code)


def _job(name: str) -> str:
    match = _OUTPUT.fullmatch(name)
    return match[1] if match else name


def _show_waiting(waiting: Waiting, job: str, *, as_json: bool) -> int:
    from clusterwright.diagnose.pending.report import diagnosis, format_waiting

    if as_json:
        return answer([diagnosis(waiting, job)], everything=False, as_json=True)
    show_text(format_waiting(waiting, job))
    return 0
