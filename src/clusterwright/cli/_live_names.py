"""Names for shell completion: hosts and groups of the cluster file, runs, faults, checks, error codes, GPUs, models.

The completion scripts run `wright __complete WORDS` (Cyclopts), which calls the completer of the parameter. Completers
read files only and never connect to a host: `wright jobs` stores the names of a cluster's runs for them.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from clusterwright.config.cluster import Cluster

    Names = Callable[[Cluster], Iterable[str]]

LIMIT_S = 2.0
MOST_RUNS = 200
_HARMLESS = re.compile(
    r"[\w@%+=:,./\[\]-]+", re.ASCII
)  # other users name runs; a shell must not interpret a name
_PACKAGE = Path(__file__).parents[1]


def limit_time() -> None:
    """Start a timer that ends this process without output if the names to complete take too long."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)


def _hosts(cluster: Cluster) -> Iterable[str]:
    return (host.name for host in cluster.hosts())


def _runs(context: CompletionContext) -> list[str]:
    from clusterwright.cli._connection import LOCAL_RUNS
    from clusterwright.onhost.runs.run_folders import newest

    names = newest(str(LOCAL_RUNS.absolute())) if LOCAL_RUNS.is_dir() else []
    cluster = _cluster(context)
    if cluster and cluster.shared_folder and Path(cluster.shared_folder, "runs").is_dir():
        names += newest(f"{cluster.shared_folder}/runs")
    elif cluster:
        names += stored_runs(cluster.name)
    return ["last", *names[:MOST_RUNS]] if names else []


def _runs_and_hosts(context: CompletionContext) -> list[str]:
    cluster = _cluster(context)
    return [*_runs(context), *(_hosts(cluster) if cluster else ())]


def _faults(_context: CompletionContext) -> list[str]:
    return [*_stems("lab/faults", ".py", "-"), "undo"]


def _campaign_faults(_context: CompletionContext) -> list[str]:
    from clusterwright.lab.chaos.kind import kinds

    return list(kinds())


def _lab_hosts(context: CompletionContext) -> list[str]:
    from clusterwright.lab.state import labs, read

    typed = context.get("name")
    names = [typed.raw] if typed and typed.raw else labs()
    states = [state for name in names if (state := read(str(name)))]
    return [host.name for state in states for host in state.layout.hosts]


def _labs(_context: CompletionContext) -> list[str]:
    from clusterwright.lab.state import labs

    return list(labs())


def _checks(_context: CompletionContext) -> list[str]:
    return _stems("check/checks", ".py")


def _topics(_context: CompletionContext) -> list[str]:
    from clusterwright.config.slurm_rules import all_rules

    modes = (
        path.relative_to(_PACKAGE / "diagnose/modes") for path in _PACKAGE.glob("diagnose/modes/*/*.toml")
    )
    names = [*_stems("codes", ".md"), *(rule.code for rule in all_rules())]
    return [*names, *(str(path.with_suffix("")) for path in modes)]


def _gpus(_context: CompletionContext) -> list[str]:
    from clusterwright.catalog.gpus import gpus

    return list(gpus())


def _models(_context: CompletionContext) -> list[str]:
    from clusterwright.catalog.models import architectures

    return list(architectures())


def _stems(folder: str, suffix: str, hyphen: str = "_") -> list[str]:
    files = _PACKAGE.joinpath(folder).glob(f"[a-z]*{suffix}")
    return sorted(path.name.removesuffix(suffix).replace("_", hyphen) for path in files)


def _cluster(context: CompletionContext) -> Cluster | None:
    """Return the cluster of --cluster or of this folder; None without a cluster file.

    Nothing is asked of Slurm.
    """
    from clusterwright.cli._connection import find_cluster, has_cluster_file, is_unmanaged

    typed = context.get("cluster")
    named = Path(typed.raw) if typed and typed.raw else None
    if named is None and not has_cluster_file():
        return None
    return None if is_unmanaged(named) else find_cluster(named)


def _completer(names: Callable[[CompletionContext], Iterable[str]]) -> Parameter:
    """Return a parameter that completes to these names, also after a comma, as the next name of a list.

    Names with special characters are left out; an error completes nothing.
    """

    def complete(context: CompletionContext) -> list[str]:
        head, comma, _last = context.incomplete.rpartition(",")
        try:
            return [
                f"{head}{comma}{name}" for name in dict.fromkeys(names(context)) if _HARMLESS.fullmatch(name)
            ]
        except Exception:  # noqa: BLE001 (a file that is missing or damaged completes nothing; the command reports it)
            return []

    return Parameter(completer=complete)


def _of_cluster(names: Names) -> Parameter:
    def of_context(context: CompletionContext) -> Iterable[str]:
        cluster = _cluster(context)
        return names(cluster) if cluster else ()

    return _completer(of_context)


HOSTS = _of_cluster(_hosts)
GROUPS = _of_cluster(lambda cluster: cluster.nodes)
PARTITIONS = _of_cluster(lambda cluster: cluster.partitions)
TEAMS = _of_cluster(lambda cluster: cluster.teams)
RUNS, RUNS_AND_HOSTS = _completer(_runs), _completer(_runs_and_hosts)
LABS, LAB_HOSTS, FAULTS, CAMPAIGN_FAULTS = map(_completer, (_labs, _lab_hosts, _faults, _campaign_faults))
CHECKS, TOPICS, GPUS, MODELS = map(_completer, (_checks, _topics, _gpus, _models))


def store_runs(cluster: str, names: Iterable[str]) -> None:
    """Store the names of a cluster's runs for the next completion; without a writable cache, do nothing."""
    from clusterwright.edge.files import write_file_atomic

    path = _cache(cluster)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file_atomic(path, json.dumps(list(names)), mode=0o600)
    except OSError:
        return


def stored_runs(cluster: str) -> list[str]:
    """Return the names of the runs that `wright jobs` listed last; none if the cache is missing or damaged."""
    from clusterwright.edge.files import read_cached
    from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, DOCUMENT_BYTES, parse_document

    try:
        names = parse_document(read_cached(_cache(cluster), DOCUMENT_BYTES))
    except (OSError, *DATA_ERRORS):
        return []
    return [str(name) for name in names] if isinstance(names, list) else []


def _cache(cluster: str) -> Path:
    from clusterwright.edge.files import cache_folder

    return cache_folder() / cluster / "runs.json"
