"""Run a real training on every host alone, and on groups of 2, 4, 8 ... and all hosts: the scaling table.

Groups of one size train at the same time, over each available transport.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.bench.culprits.groups import Groups
from clusterwright.check.bench.measure import Condition, Measurement
from clusterwright.check.bench.parsers.trained import Trained
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.training.judged import in_doubt, of_data, of_failures, of_hosts, of_scaling
from clusterwright.check.bench.training.routes import SINGLE_HOST, routes
from clusterwright.check.bench.training.scaling import ScalingRow, sizes, table
from clusterwright.check.bench.training.trainings import line_bytes_per_s, shape_of
from clusterwright.check.bench.training.trials import Case, Trials
from clusterwright.config.names import fold
from clusterwright.i18n import _

NOTABLE_SHARE = 0.2  # ours: a larger share of a step, lost or gained, is noted


def training(site: BenchSite) -> BenchOutcome:
    """Train a model on each host alone, then on groups over each transport; return measurements and verdicts.

    The cases in doubt are repeated.
    """
    trials = Trials(site, shape_of(site), Groups(site))
    site.log(_("{shape}; on {hosts}", shape=trials.shape, hosts=fold(list(site.stage.hosts))))
    cases = _cases(trials)
    for case in cases:
        trials.train(*case)
    for case in [case for case in cases if in_doubt(trials, case)]:
        site.log(
            _(
                "the training bench repeats the groups of {count} hosts, over {network}",
                count=case[1],
                network=case[0].name,
            )
        )
        trials.train(*case)
    rows = _rows(trials, cases)
    site.log(table(rows))
    scaled = (verdict for case in cases[1:] for verdict in of_scaling(trials, case))
    verdicts = (*of_hosts(trials, cases[-1]), *scaled, *of_data(trials), *of_failures(trials))
    return BenchOutcome(tuple(_measurements(trials)), verdicts, tuple(_notes(rows)))


def _cases(trials: Trials) -> list[Case]:
    cases = [(SINGLE_HOST, 1)]
    for route in routes(trials.site, trials.shape.backend):
        cases += [(route, size) for size in sizes(len(trials.site.stage.hosts))]
    return cases


def _rows(trials: Trials, cases: Sequence[Case]) -> list[ScalingRow]:
    line, sequences = line_bytes_per_s(trials.site, trials.shape.backend), trials.shape.sequences
    results = ((route, trials.best(route, size)) for route, size in cases)
    return [
        ScalingRow(route.name, groups, sequences, trials.single_host_s, line)
        for route, groups in results
        if groups
    ]


def _notes(rows: Sequence[ScalingRow]) -> Iterator[str]:
    """Yield a note for each case in which groups compute much faster or slower than single hosts did."""
    for row in (row for row in rows if row.single_host_s):
        hosts, varies = (
            _("{count} hosts, {route}", count=len(row.groups[0].hosts), route=row.route),
            row.compute_s / row.single_host_s,
        )
        if row.efficiency > 1 + NOTABLE_SHARE:
            yield _(
                "{hosts}: faster together than single hosts, which other programs "
                "disturbed while they were measured; ignore the efficiency",
                hosts=hosts,
            )
        elif varies > 1 + NOTABLE_SHARE:
            yield _(
                "{hosts}: in each step the ranks wait for the slowest, which computes {share:.0%} "
                "longer than a single host",
                hosts=hosts,
                share=varies - 1,
            )


def _measurements(trials: Trials) -> Iterator[Measurement]:
    for route, several in trials.all().items():
        for group in several:
            yield from _of_group(trials, route, group)


def _of_group(trials: Trials, route: str, group: Trained) -> Iterator[Measurement]:
    how: dict[str, Condition] = {"backend": trials.shape.backend, "transport": route, "ranks": group.ranks}
    how |= trials.shape.arguments
    figures = [
        ("training samples", "1/s", trials.samples(group.hosts) / group.step_s),
        ("training step", "s", group.step_s),
        ("training step without exchange", "s", group.compute_s),
    ]
    if len(group.hosts) > 1:
        figures.append(("all-reduce of gradients busbw", "bytes/s", group.bus_bw))
    if len(group.hosts) > 1 and trials.single_host_s:
        figures.append(
            (
                "efficiency",
                _("of the same number of single hosts"),
                trials.single_host_s / group.step_s,
            )
        )
    for quantity, unit, value in figures:
        yield Measurement("training", fold(list(group.hosts)), quantity, unit, value, group.hosts, how)
    for host, step_s in group.by_host.items():
        host_samples = trials.samples((host,)) / step_s
        yield Measurement("training", host, "own samples", "1/s", host_samples, (host,), how)
