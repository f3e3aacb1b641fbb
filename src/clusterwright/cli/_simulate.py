"""What `wright simulate` replays, and how it shows what came of it."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from clusterwright.cli._show import say, show_json, show_table, show_text
from clusterwright.config.load import load_cluster
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.monitor.records import sacct
from clusterwright.monitor.simulate import generated, shown
from clusterwright.monitor.simulate.engine import simulate
from clusterwright.monitor.simulate.result import result
from clusterwright.monitor.simulate.settings import Settings, of_cluster, slurm_default
from clusterwright.monitor.simulate.trace import Trace, trace

FEWEST_TEAMS, LONGEST_D, MOST_LOAD = 2, 366, 10
ASK = "sacct -a -P -X -S 2026-10-01 -E 2026-11-01 --format=" + ",".join(
    name for name in sacct.FIELDS if name not in ("TotalCPU", "MaxRSS")
)


@dataclass(frozen=True)
class Wish:
    """A trace to be made up."""

    teams: int
    days: float
    load: float
    seed: int


def jobs_of(cluster: Path, path: Path | None, wish: Wish, *, skip_bad: bool) -> Trace:
    """The trace that is named, or one that is made up.

    Raises:
        WrightError: neither or both are named, or the text is no trace.
    """
    if bool(path) == bool(wish.teams):
        _refuse(
            "trace-which",
            "there is no trace to replay" if not path else "two traces are named",
            "--trace FILE, or --teams 5",
        )
    if path is None:
        return _made_up(of_cluster(load_cluster(cluster), ""), wish)
    try:
        found = trace(sacct.read(_lines(path)))
    except sacct.NoColumnError as why:
        _refuse("trace-no-column", f"{path}: the heading lacks {why}", f"take what this prints: {ASK}")
    if found.bad and not skip_bad:
        _refuse(
            "trace-bad-lines",
            f"{path}: {found.bad} lines are no jobs: {shown.bad(found)}",
            "mend them, or leave them out with --skip-bad",
        )
    if not found.jobs:
        _refuse("trace-empty", f"{path}: no job in it ever ran", f"take what this prints: {ASK}")
    return found


def show(cluster: Path, against: Path | None, jobs: Trace, *, as_json: bool) -> int:
    """Replay and compare."""
    results = []
    for each in _settings(cluster, against):
        say(f"replaying {len(jobs.jobs)} jobs: {each.name}")
        results.append(result(simulate(jobs.jobs, each)))
    if as_json:
        show_json(shown.document(jobs, results))
        return 0
    show_table(*shown.figures(results))
    show_text("")
    show_table(*shown.teams(results))
    show_text("\n" + "\n".join(shown.notes(jobs, results)))
    return 0


def _settings(cluster: Path, against: Path | None) -> tuple[Settings, Settings]:
    """Today's and the proposed ones; named so that they can be told apart."""
    own = of_cluster(load_cluster(cluster), str(cluster))
    if against is None:
        return slurm_default(own), own
    return own, of_cluster(load_cluster(against), str(against))


def _made_up(settings: Settings, wish: Wish) -> Trace:
    kinds = [kind for kind in settings.kinds.values() if kind.gpus]
    most = len(generated.FIVE)
    if not kinds:
        _refuse(
            "trace-no-gpus", "the cluster has no GPUs that teams could share", "replay a trace: --trace FILE"
        )
    if (
        not FEWEST_TEAMS <= wish.teams <= most
        or not 0 < wish.days <= LONGEST_D
        or not 0 < wish.load <= MOST_LOAD
    ):
        _refuse(
            "trace-wish",
            f"{wish.teams} teams, {wish.days:g} days, load {wish.load:g}",
            f"{FEWEST_TEAMS} to {most} teams, up to 366 days, a load up to 10",
        )
    names = sorted(settings.accounts, key=lambda name: -settings.accounts[name].shares)
    jobs = generated.generated(
        generated.Wish(
            wish.days, wish.load, settings.gpus, kinds[0].gpus, max(1, kinds[0].cpus // kinds[0].gpus),
            generated.groups(wish.teams, names),
        ),
        random.Random(wish.seed).random,  # noqa: S311 (no secret: the same number makes the same trace)
    )  # fmt: skip
    return Trace(jobs)


def _lines(path: Path) -> Iterator[str]:
    if str(path) == "-":
        yield from sys.stdin
        return
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            yield from file
    except OSError as why:
        _refuse("file-unreadable", f"{path}: {why.strerror}", "name a file that is there")


def _refuse(code: str, message: str, mend: str) -> NoReturn:
    raise WrightError.of(code, message, mend, exit_code=EXIT_USAGE)
