"""The session that the options of `wright dev`, a job file and the cluster file make together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._show import say
from clusterwright.cli._there import cluster_file
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Environment, Job
from clusterwright.config.load import load_cluster, load_job
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.launch.dev import Kind, Wish
from clusterwright.units import QuantityError, parse_duration, parse_size

if TYPE_CHECKING:
    from clusterwright.cli._dev import Common

USUAL_TIME_S = 8 * 3600  # a working day; less where the partition gives less
_MOST_PORT = 65535  # 16 bits
_MANY = 65535  # Slurm counts CPUs of a host in 16 bits
_YEAR_S = 366 * 86400


def read(typed: Common, file: Path | None) -> tuple[Cluster, Wish]:
    """What is typed comes first, then the job file, then the cluster.

    Raises:
        WrightError: a file that cannot be read, or an option that says nothing that could be.
    """
    job = load_job(file) if file else None
    cluster = load_cluster(cluster_file(typed.cluster, file))
    if job and job.container:
        say(f"note: image `{job.container.image}` of job `{job.name}` is left out: sessions run without one")
    return cluster, _wish(typed, cluster, job)


def _wish(typed: Common, cluster: Cluster, job: Job | None) -> Wish:
    found = job.environment if job else Environment()
    partition = typed.partition or (job.partition if job else None) or ""
    return Wish(
        _kind(typed),
        _within("--gpus", typed.gpus, 0, _MANY),
        seconds("--time", typed.time) if typed.time else _usual_time(cluster, partition),
        _within("--idle", seconds("--idle", typed.idle), 1, _YEAR_S),
        _within("--cpus", typed.cpus, 1, _MANY) if typed.cpus is not None else None,
        _quantity("--memory", typed.memory, parse_size) if typed.memory else None,
        partition,
        typed.account or (job.team if job else None),
        typed.as_user or (job.user if job else None),
        typed.python or _environment(typed, cluster) or found.python or cluster.software.python,
        typed.folder,
        _within("--port", typed.port, 0, _MOST_PORT),
        found.modules,
        tuple(found.variables.items()),
    )


def _kind(typed: Common) -> Kind:
    if typed.jupyter + typed.vscode + typed.shell > 1:
        raise _refused("dev-kind", "one of --jupyter, --vscode and --shell can be had at a time", "name one")
    return "vscode" if typed.vscode else "shell" if typed.shell else "jupyter"


def _environment(typed: Common, cluster: Cluster) -> str:
    """The Python of the environment that is named; empty where none is."""
    if not typed.environment:
        return ""
    named = cluster.environments.python
    if typed.environment not in named:
        mend = f"--environment {next(iter(named))}" if named else "--python /path/to/bin/python"
        there = ", ".join(named) or "none"
        raise _refused(
            "dev-environment", f"there is no environment `{typed.environment}`; there are: {there}", mend
        )
    return f"{named[typed.environment].path}/bin/python"


def _usual_time(cluster: Cluster, partition: str) -> int:
    """For a partition that is not there it does not matter: it is refused."""
    found = cluster.partitions.get(partition) if partition else None
    queue = found or next((each for each in cluster.partitions.values() if each.default), None)
    return min(USUAL_TIME_S, queue.max_time) if queue else USUAL_TIME_S


def seconds(option: str, text: str) -> int:
    """Of `2h`; 0s is a time, too.

    Raises:
        WrightError: it is none.
    """
    return _quantity(option, text, parse_duration)


def _quantity(option: str, text: str, parse: Callable[[str], int]) -> int:
    try:
        return parse(text)
    except QuantityError as why:
        raise _refused("bad-quantity", f"{option}: {why.message}", why.mend) from why


def _within(option: str, number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise _refused(
            "out-of-range", f"{option} cannot be {number}", f"a whole number from {least} to {most}"
        )
    return number


def _refused(code: str, message: str, mend: str) -> WrightError:
    return WrightError.of(code, message, mend, exit_code=EXIT_USAGE)
