"""`wright simulate`."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

from cyclopts import Parameter

from clusterwright.cli._show import show_json, show_message, show_table, show_text
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.monitor.simulate.settings import Settings
    from clusterwright.monitor.simulate.trace import Trace


def simulate(  # noqa: PLR0913 (each option of the command line is one)
    cluster: Path = Path("cluster.yaml"),
    /,
    *,
    trace: Path | None = None,
    teams: int = 0,
    days: float = 14,
    load: float = 1.0,
    seed: int = 1,
    against: Path | None = None,
    skip_bad: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Replay jobs through a model of Slurm: utilisation, waiting and fairness of two settings, side by side.

    Parameters
    ----------
    cluster
        The cluster file whose settings are tried.
    trace
        What `sacct -a -P -X` of any site printed; - is what is piped in.
    teams
        In place of a trace: jobs of so many teams (2 to 5), made up, with days and nights.
    days
        How long that lasts.
    load
        GPU time that those teams ask for, over what there is.
    seed
        Another number makes another such trace; the same one the same.
    against
        A cluster file with other settings; Slurm's own defaults if left out.
    skip_bad
        Leave out lines that cannot be read, and say how many.
    json
        One JSON document.
    """
    options = TraceOptions(teams, days, load, seed)
    return show(cluster, against, jobs_of(cluster, trace, options, skip_bad=skip_bad), as_json=json)


FEWEST_TEAMS, LONGEST_D, MOST_LOAD = 2, 366, 10
SACCT_HINT = "take what this prints: sacct -a -P -X -S 2026-10-01 -E 2026-11-01 --format="


@dataclass(frozen=True)
class TraceOptions:
    """A trace to be made up."""

    teams: int
    days: float
    load: float
    seed: int


def jobs_of(cluster: Path, path: Path | None, options: TraceOptions, *, skip_bad: bool) -> Trace:
    """The trace that is named, or one that is made up.

    Raises:
        WrightError: neither or both are named, or the text is no trace.
    """
    from clusterwright.config.load import load_cluster
    from clusterwright.monitor.records import sacct
    from clusterwright.monitor.simulate import comparison
    from clusterwright.monitor.simulate.settings import of_cluster
    from clusterwright.monitor.simulate.trace import trace

    if bool(path) == bool(options.teams):
        _refuse(
            "trace-which",
            _("there is no trace to replay") if not path else _("two traces are named"),
            _("--trace FILE, or --teams 5"),
        )
    if path is None:
        return _generate_trace(of_cluster(load_cluster(cluster), ""), options)
    fix = SACCT_HINT + ",".join(name for name in sacct.FIELDS if name not in ("TotalCPU", "MaxRSS"))
    try:
        job_trace = trace(sacct.read(_lines(path)))
    except sacct.NoColumnError as error:
        _refuse("trace-no-column", _("{path}: the heading lacks {error}", path=path, error=error), fix)
    if job_trace.bad and not skip_bad:
        _refuse(
            "trace-bad-lines",
            _(
                "{path}: {bad} lines are no jobs: {bad2}",
                path=path,
                bad=job_trace.bad,
                bad2=comparison.bad(job_trace),
            ),
            _("fix them, or leave them out with --skip-bad"),
        )
    if not job_trace.jobs:
        _refuse("trace-empty", _("{path}: no job in it ever ran", path=path), fix)
    return job_trace


def show(cluster: Path, against: Path | None, jobs: Trace, *, as_json: bool) -> int:
    """Replay and compare."""
    from clusterwright.monitor.simulate import comparison
    from clusterwright.monitor.simulate.engine import simulate as replay
    from clusterwright.monitor.simulate.result import result

    results = []
    for settings in _settings(cluster, against):
        show_message(_("replaying {count} jobs: {settings}", count=len(jobs.jobs), settings=settings.name))
        results.append(result(replay(jobs.jobs, settings)))
    if as_json:
        show_json(comparison.document(jobs, results))
        return 0
    show_table(*comparison.figures(results))
    show_text("")
    show_table(*comparison.teams(results))
    show_text("\n" + "\n".join(comparison.notes(jobs, results)))
    return 0


def _settings(cluster: Path, against: Path | None) -> tuple[Settings, Settings]:
    """Today's and the proposed ones; named so that they can be told apart."""
    from clusterwright.config.load import load_cluster
    from clusterwright.monitor.simulate.settings import of_cluster, slurm_default

    current_settings = of_cluster(load_cluster(cluster), str(cluster))
    if against is None:
        return slurm_default(current_settings), current_settings
    return current_settings, of_cluster(load_cluster(against), str(against))


def _generate_trace(settings: Settings, options: TraceOptions) -> Trace:
    from clusterwright.monitor.simulate import generated
    from clusterwright.monitor.simulate.trace import Trace

    kinds = [kind for kind in settings.kinds.values() if kind.gpus]
    most = len(generated.FIVE)
    if not kinds:
        _refuse(
            "trace-no-gpus",
            _("the cluster has no GPUs that teams could share"),
            _("replay a trace: --trace FILE"),
        )
    if (
        not FEWEST_TEAMS <= options.teams <= most
        or not 0 < options.days <= LONGEST_D
        or not 0 < options.load <= MOST_LOAD
    ):
        _refuse(
            "trace-wish",
            _(
                "{teams} teams, {days:g} days, load {load:g}",
                teams=options.teams,
                days=options.days,
                load=options.load,
            ),
            _(
                "{fewest_teams} to {most} teams, up to 366 days, a load up to 10",
                fewest_teams=FEWEST_TEAMS,
                most=most,
            ),
        )
    names = sorted(settings.accounts, key=lambda name: -settings.accounts[name].shares)
    jobs = generated.generated(
        generated.TraceSpec(
            options.days, options.load, settings.gpus, kinds[0].gpus, max(1, kinds[0].cpus // kinds[0].gpus),
            generated.groups(options.teams, names),
        ),
        random.Random(options.seed).random,  # noqa: S311 (no secret: the same number makes the same trace)
    )  # fmt: skip
    return Trace(jobs)


def _lines(path: Path) -> Iterator[str]:
    if str(path) == "-":
        yield from sys.stdin
        return
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            yield from file
    except OSError as error:
        _refuse("file-unreadable", f"{path}: {error.strerror}", _("name a file that is there"))


def _refuse(code: str, message: str, fix: str) -> NoReturn:
    raise WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
