"""`wright why JOB|NODE`: which of the two a word is, and the answer."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._there import find_cluster, way_to
from clusterwright.cli._why import answer, of_sources
from clusterwright.errors import EXIT_USAGE, WrightError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.config.cluster import Cluster
    from clusterwright.diagnose.diagnosis import Diagnosis
    from clusterwright.diagnose.pending import Waiting
    from clusterwright.edge.ssh import Remote

_JOB = re.compile(r"\d+(?:_\d+)?|last")
_OUTPUT = re.compile(r".*?slurm-(\d+)\.out")


def why_cluster(
    words: Sequence[str], *, lang: str, everything: bool, as_json: bool, cluster: Path | None
) -> int:
    """Ask the cluster about each word, one after another; the worst exit code."""
    where = find_cluster(cluster)
    remote = way_to(where)
    return max(_one(where, remote, word, lang, everything=everything, as_json=as_json) for word in words)


def _one(cluster: Cluster, remote: Remote, word: str, lang: str, *, everything: bool, as_json: bool) -> int:
    if not _JOB.fullmatch(word) and word in {host.name for host in cluster.hosts()}:
        diagnoses = of_node(cluster, remote, word, lang)
    elif waiting := waits(cluster, remote, _job(word)):
        return _show_waiting(waiting, _job(word), lang, as_json=as_json)
    else:
        diagnoses = of_job(cluster, remote, _job(word), lang)
    return answer(diagnoses, lang, everything=everything, as_json=as_json)


def _job(word: str) -> str:
    found = _OUTPUT.fullmatch(word)
    return found[1] if found else word


def waits(cluster: Cluster, remote: Remote, job: str) -> Waiting | None:
    """Why the job waits; None where Slurm has none of that id that does."""
    from clusterwright.diagnose.gather.queue import ask
    from clusterwright.diagnose.pending import explain
    from clusterwright.slurm.jobs import job_state_of
    from clusterwright.slurm.states import is_pending

    if not job[:1].isdigit():
        return None
    facts = ask(remote, cluster.control.name, job)
    state = job_state_of(facts.job)
    return explain(facts) if is_pending(state) or state == "CONFIGURING" else None


def of_job(cluster: Cluster, remote: Remote, job: str, lang: str) -> list[Diagnosis]:
    """The diagnoses of a job that runs or has ended.

    Raises:
        WrightError: neither Slurm nor the runs' folder knows it.
    """
    from clusterwright.diagnose.gather.ended import gather
    from clusterwright.diagnose.gather.told import of_slurm_alone
    from clusterwright.launch.run import runs_folder
    from clusterwright.slurm.states import holds_hosts

    runs = runs_folder(cluster) if cluster.shared_folder else "/nowhere"
    found = gather(remote, cluster.control.name, runs, job)
    if not found.state and not found.run:
        raise WrightError.of(
            "no-such-job",
            f"neither Slurm's records nor {runs} know a job, a run or a host `{job}`",
            "`wright jobs` lists jobs and runs; a file or a folder of logs is named by its path",
            exit_code=EXIT_USAGE,
        )
    for host in found.silent:
        sys.stderr.write(f"{host} does not answer: what its kernel and slurmd said is not seen\n")
    is_fine = holds_hosts(found.state) or found.state in ("COMPLETED", "CANCELLED")
    return of_slurm_alone(found, of_sources(list(found.sources), lang), lang, fine=is_fine)


def of_node(cluster: Cluster, remote: Remote, node: str, lang: str) -> list[Diagnosis]:
    """Why a host is as it is, then what its own logs tell of."""
    from clusterwright.diagnose.gather.node import lately, record
    from clusterwright.diagnose.node import explain
    from clusterwright.diagnose.node.told import follows, past, told
    from clusterwright.edge.clock import SystemClock

    known = record(remote, cluster.control.name, node)
    said = lately(remote, node, int(SystemClock().now()), known)
    now = told(
        explain(known.record),
        of_sources(list(said.since), lang),
        lang,
        answers=said.answers,
        follows=follows(),
    )
    return [*now, *(past(of_sources(list(said.before), lang), lang) if said.before else ())]


def _show_waiting(waiting: Waiting, job: str, lang: str, *, as_json: bool) -> int:
    from clusterwright.diagnose.pending.told import diagnosis, shown

    if as_json:
        return answer([diagnosis(waiting, job, lang)], lang, everything=False, as_json=True)
    sys.stdout.write(shown(waiting, job, lang) + "\n")
    return 0
