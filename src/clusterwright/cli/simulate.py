"""`wright simulate`."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

from cyclopts import Parameter

from clusterwright.cli._show import show_json, show_message, show_table, show_text
from clusterwright.errors import EXIT_USAGE, WrightError, unreadable_fix
from clusterwright.file_arguments import open_argument
from clusterwright.i18n import N_, _, _n

if TYPE_CHECKING:
    from clusterwright.monitor.simulate.settings import SimulationSettings
    from clusterwright.monitor.simulate.trace import Trace


FEWEST_TEAMS, MOST_TEAMS, LONGEST_D, MOST_LOAD = 2, 5, 366, 10
_RANGES = {"--teams": (FEWEST_TEAMS, MOST_TEAMS), "--days": (0, LONGEST_D), "--load": (0, MOST_LOAD)}


def _require_range(option: str, value: float) -> None:
    """Raise WrightError if the value of an option for a generated trace is outside of its range; else do nothing."""
    least, most = _RANGES[option]
    if least <= value <= most and value != 0:
        return
    if value > most:
        values, message = {"limit": most}, N_("{option} is {value}, but must be at most {limit}")
    elif least:
        values, message = {"limit": least}, N_("{option} is {value}, but must be at least {limit}")
    else:
        values, message = {"limit": 0}, N_("{option} is {value}, but must be more than {limit}")
    fix = _("write {option} {limit}", option=option, limit=most if value > most else least or 1)
    _refuse("trace-wish", _(message).format(option=option, value=f"{value:g}", **values), fix)


def _in_range(option: str) -> Parameter:
    """Return a parameter whose value has its range; 0 teams are none, as without the option."""

    def check(_type: object, value: float) -> None:
        if value or option != "--teams":
            _require_range(option, value)

    return Parameter(validator=check)


def simulate(  # noqa: PLR0913 (the options of the command line)
    *,
    cluster: Path | None = None,
    trace: Path | None = None,
    teams: Annotated[int, _in_range("--teams")] = 0,
    days: Annotated[float, _in_range("--days")] = 14,
    load: Annotated[float, _in_range("--load")] = 1.0,
    seed: int = 1,
    against: Path | None = None,
    skip_bad: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Simulate Slurm with recorded jobs: compare utilization, waiting time and fairness of two configurations.

    Parameters
    ----------
    cluster
        Cluster file with the settings to evaluate; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    trace
        Output of `sacct -a -P -X` of any site; - reads stdin.
    teams
        Instead of a trace: generate jobs of 2 to 5 teams, with days and nights.
    days
        Length of the generated trace in days.
    load
        GPU time that the generated jobs request, relative to the capacity.
    seed
        Seed of the generated trace; the same seed generates the same trace.
    against
        Cluster file with other settings; default: Slurm's own defaults.
    skip_bad
        Skip invalid lines and report their number.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli._connection import cluster_file

    file, options = cluster_file(cluster), TraceOptions(teams, days, load, seed)
    return show(file, against, jobs_of(file, trace, options, skip_bad=skip_bad), as_json=json)


SACCT = "sacct -a -P -X -S 2026-10-01 -E 2026-11-01 --format="


@dataclass(frozen=True)
class TraceOptions:
    """The options of a generated trace."""

    teams: int
    days: float
    load: float
    seed: int


def jobs_of(cluster: Path, path: Path | None, options: TraceOptions, *, skip_bad: bool) -> Trace:
    """Return the trace of jobs to simulate: that of sacct's output in the file `path`, or a generated one.

    With `skip_bad`, lines that are not jobs are left out.

    Raises:
        WrightError: neither or both are requested, or the text is not a trace.
    """
    from clusterwright.cli._file_kinds import require_file_kind
    from clusterwright.cli._option_rules import NO_TRACE, TWO_TRACES
    from clusterwright.config.file_kinds import LOG
    from clusterwright.config.load import load_cluster
    from clusterwright.monitor.records import sacct
    from clusterwright.monitor.simulate import comparison
    from clusterwright.monitor.simulate.settings import of_cluster
    from clusterwright.monitor.simulate.trace import trace

    if bool(path) == bool(options.teams):
        raise TWO_TRACES.error("--trace", "--teams") if path else NO_TRACE.error()
    if path is not None:
        require_file_kind(path, _("the output of sacct"), LOG)
    if path is None:
        return _generate_trace(of_cluster(load_cluster(cluster), ""), options)
    fields = ",".join(name for name in sacct.FIELDS if name not in ("TotalCPU", "MaxRSS"))
    fix = _("pass the output of {command}", command=SACCT + fields)
    try:
        job_trace = trace(sacct.read(_lines(path)))
    except sacct.NoColumnError as error:
        _refuse("trace-no-column", _("{file}: the header lacks {columns}", file=path, columns=error), fix)
    if job_trace.bad and not skip_bad:
        _refuse(
            "trace-bad-lines",
            _n(
                "{file}: {count} line is not a job: {examples}",
                "{file}: {count} lines are not jobs: {examples}",
                job_trace.bad,
                file=path,
                examples=comparison.bad(job_trace),
            ),
            _("fix the lines, or skip them with --skip-bad"),
        )
    if not job_trace.jobs:
        _refuse("trace-empty", _("{file}: no job of this trace ever started", file=path), fix)
    return job_trace


def show(cluster: Path, against: Path | None, jobs: Trace, *, as_json: bool) -> int:
    """Replay the jobs with two settings of Slurm, print the comparison, and return 0.

    These are the settings of the files `cluster` and `against`; without `against` Slurm's defaults and those of
    `cluster`.
    """
    from clusterwright.monitor.simulate import comparison
    from clusterwright.monitor.simulate.engine import simulate as replay
    from clusterwright.monitor.simulate.result import result

    results = []
    for settings in _settings(cluster, against):
        show_message(
            _("simulating {count} jobs with {settings}", count=len(jobs.jobs), settings=settings.name)
        )
        results.append(result(replay(jobs.jobs, settings)))
    if as_json:
        show_json(comparison.document(jobs, results))
        return 0
    show_table(*comparison.figures(results))
    show_text("")
    show_table(*comparison.teams(results))
    show_text("\n" + "\n".join(comparison.notes(jobs, results)))
    return 0


def _settings(cluster: Path, against: Path | None) -> tuple[SimulationSettings, SimulationSettings]:
    """Return the current and the proposed settings of Slurm, with distinct names.

    Without `against` the cluster file's are the proposed ones, and Slurm's defaults the current; with it, the cluster
    file's are the current, and those of `against` the proposed.
    """
    from clusterwright.config.load import load_cluster
    from clusterwright.monitor.simulate.settings import of_cluster, slurm_default

    current_settings = of_cluster(load_cluster(cluster), str(cluster))
    if against is None:
        return slurm_default(current_settings), current_settings
    return current_settings, of_cluster(load_cluster(against), str(against))


def _generate_trace(settings: SimulationSettings, options: TraceOptions) -> Trace:
    from clusterwright.monitor.simulate import generated
    from clusterwright.monitor.simulate.trace import Trace

    kinds = [kind for kind in settings.kinds.values() if kind.gpus]
    if not kinds:
        _refuse(
            "trace-no-gpus",
            _("the cluster has no GPUs to generate jobs for"),
            _("pass a recorded trace: --trace FILE"),
        )
    for option, value in (("--teams", options.teams), ("--days", options.days), ("--load", options.load)):
        _require_range(option, value)
    names = sorted(settings.accounts, key=lambda name: -settings.accounts[name].shares)
    jobs = generated.generated(
        generated.TraceSpec(
            options.days,
            options.load,
            settings.gpus,
            kinds[0].gpus,
            max(1, kinds[0].cpus // kinds[0].gpus),
            generated.groups(options.teams, names),
        ),
        random.Random(options.seed).random,  # nosec B311 # noqa: S311 (no secret: the same number makes the same trace)
    )
    return Trace(jobs)


def _lines(path: Path) -> Iterator[str]:
    if str(path) == "-":
        yield from sys.stdin
        return
    try:
        with TextIOWrapper(open_argument(path), "utf-8", errors="replace", newline="\n") as file:
            yield from file
    except OSError as error:
        fix = unreadable_fix(error, path, _("pass a readable file"))
        _refuse("file-unreadable", f"{path}: {error.strerror}", fix)


def _refuse(code: str, message: str, fix: str) -> NoReturn:
    raise WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
