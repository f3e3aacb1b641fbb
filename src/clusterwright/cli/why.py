"""`wright why LOG...|JOB|NODE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def why(
    *what: Annotated[str, Parameter(allow_leading_hyphen=True)],
    lang: Literal["en", "zh"] | None = None,
    all: Annotated[bool, Parameter(name="--all")] = False,  # noqa: A002 (the flag's name)
    json: bool = False,
    cluster: Path | None = None,
) -> int:
    """Say why a run failed, a job waits or a host is out, with the lines that show it.

    Exit code: 0 a cause is named, or nothing failed; 1 something failed that is not known.

    Parameters
    ----------
    what
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
    from clusterwright.cli._why import answer, language, of_logs
    from clusterwright.errors import EXIT_USAGE, WrightError

    if wrong := [word for word in what if word.startswith("-") and word != "-"]:
        raise WrightError.of(
            "unknown-name", f"there is no option {wrong[0]}", "see wright why --help", exit_code=EXIT_USAGE
        )
    if not what and sys.stdin.isatty():
        raise WrightError.of(
            "missing-key",
            "there is no log to read",
            "give a log, a folder, `-`, a job or a host",
            exit_code=EXIT_USAGE,
        )
    spoken = lang or language()
    if not what or any(word == "-" or Path(word).exists() or "/" in word for word in what):
        return answer(of_logs(what or ("-",), spoken), spoken, everything=all, as_json=json)
    from clusterwright.cli._why_cluster import why_cluster

    return why_cluster(what, lang=spoken, everything=all, as_json=json, cluster=cluster)
