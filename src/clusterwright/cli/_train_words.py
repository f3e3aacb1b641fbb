"""The job that `wright train` means: a file's, or that of the words behind `--`; what is typed comes first."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.cli._train_typed import Typed
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.load import check_job_against, job_of, load_both, load_cluster, load_job, source_of
from clusterwright.config.reader import read
from clusterwright.errors import EXIT_USAGE, SpecError, WrightError

USUAL_TIME_S = 12 * 3600


@dataclass(frozen=True, slots=True)
class Asked:
    """A job, the cluster it was held against, and where its relative paths begin."""

    job: Job
    cluster: Cluster | None
    beside: Path


def asked(words: Sequence[str], typed: Typed, cluster: Path | None) -> Asked:
    """The job; without a cluster file it is held against none.

    Raises:
        WrightError: everything that is wrong with it.
    """
    file = Path(words[0])
    if file.suffix in (".yaml", ".yml"):
        if len(words) > 1:
            mend = f"wright train {file}, or wright train -- {' '.join(words)}"
            raise WrightError.of(
                "train-words", f"behind {file} there is `{words[1]}`", mend, exit_code=EXIT_USAGE
            )
        return _of_file(file, typed, cluster)
    from clusterwright.launch.words import fields

    where = load_cluster(cluster) if cluster else None
    found = {
        "time": f"{_usual(where, typed)}s",
        "code": {"folder": "."},
        **fields(words, os.environ),
        **typed.fields(),
    }
    if typed.code == "none":
        found = {
            **found,
            "code": None,
            "environment": {**found.get("environment", {}), "workdir": str(Path.cwd())},
        }
    return Asked(_typed(_with_paths(found, typed), where), where, Path())


def _of_file(file: Path, typed: Typed, cluster: Path | None) -> Asked:
    if typed.fields() or typed.set:
        where = load_cluster(cluster) if cluster else None
        found = {**source_of(file).values, **typed.fields()}
        return Asked(_typed(_with_paths(found, typed), where), where, file.parent)
    job, where = load_both(file, cluster) if cluster else (load_job(file), None)
    return Asked(job, where, file.parent)


def _with_paths(found: dict[str, Any], typed: Typed) -> dict[str, Any]:
    """With the fields of `--set`, whose values are read as those of a job file are."""
    for words in typed.set:
        path, is_set, text = words.partition("=")
        if not is_set:
            mend = f"wright train --set {path}=VALUE"
            raise WrightError.of("train-words", f"--set {path} has no value", mend, exit_code=EXIT_USAGE)
        source = read(f"value: {text}", f"--set {path}")
        if source.findings:
            raise SpecError(*source.findings)
        found = _with_field(found, path.split("."), source.values["value"])
    return found


def _with_field(section: Any, path: Sequence[str], value: Any) -> dict[str, Any]:
    known = section if isinstance(section, dict) else {}
    first, *rest = path
    return {**known, first: _with_field(known.get(first), rest, value) if rest else value}


def _typed(found: dict[str, Any], cluster: Cluster | None) -> Job:
    """Read as a job file is, so that what is wrong is said in the same words."""
    job = job_of(
        read(
            json.dumps({name: value for name, value in found.items() if value is not None}).encode(),
            "wright train",
        )
    )
    if cluster and (wrong := check_job_against(job, cluster)):
        raise SpecError(*wrong)
    return job


def _usual(cluster: Cluster | None, typed: Typed) -> int:
    """For a partition that is not there it does not matter: it is refused."""
    queues = cluster.partitions if cluster else {}
    named = (
        [queues[typed.partition]]
        if typed.partition in queues
        else [each for each in queues.values() if each.default]
    )
    return min([USUAL_TIME_S, *(queue.max_time for queue in named)])
