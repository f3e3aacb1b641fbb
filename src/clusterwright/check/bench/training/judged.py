"""Judge the trials: hosts by their own compute, groups by the share of a step that the gradient exchange leaves."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bench.fleet import fleet
from clusterwright.check.bench.judging import Expectation, Observation, judge, suspect
from clusterwright.check.bench.training.routes import SINGLE_HOST
from clusterwright.check.bench.training.scaling import expected_compute_share
from clusterwright.check.bench.training.trainings import exchange
from clusterwright.check.bench.training.trials import Case, Trials
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold
from clusterwright.i18n import N_, _

BENCH = "training"
MIN_HOST_SHARE = 0.8  # ours, as with bandwidth: share of the rate that a host needs for the whole to scale
SLOW_HOST = N_("the host computes slowly: run wright check; check clocks, power and other processes")
SLOW_LINK = N_("fix the hosts named here; if none is named, wright bench collectives finds the host or link")
WRONG = N_(
    "a GPU, NIC or memory module corrupts data: bench each half of the hosts (--hosts), then run wright check"
)
STRAY = N_("read the messages of the bench above; if GPUDirect was not used, load nvidia_peermem")
EQUAL = N_("equal losses and gradients on all ranks")


def in_doubt(trials: Trials, case: Case) -> bool:
    """True if the case should be trained again: a group failed, or a host or group is slow."""
    route, size = case
    if any(name == route.name and len(hosts) == size for name, hosts in trials.failed):
        return True
    if case == (SINGLE_HOST, 1):
        return any(suspect(observation, None) for observation in host_observations(trials))
    return any(suspect(observation, expectation) for observation, expectation in _scaled(trials, case))


def of_hosts(trials: Trials, full_case: Case) -> Iterator[Verdict]:
    """Yield a verdict on each host by its own samples per second, against what all hosts together should reach.

    Without that expectation only the fleet is compared.
    """
    observations = host_observations(trials)
    step_s = _expected_step_s(trials, full_case, observations)
    for observation in observations:
        expectation = _host_expectation(trials, observation.subject, full_case[1], step_s) if step_s else None
        yield judge(BENCH, observation, expectation, SLOW_HOST)


def host_observations(trials: Trials) -> list[Observation]:
    """Return each host's samples a second without waiting for others, with the statistics of its node group."""
    rates: dict[str, list[float]] = {}
    for several in trials.all().values():
        for group in several:
            for host, step_s in group.by_host.items():
                rates.setdefault(host, []).append(trials.samples((host,)) / step_s)
    kinds = {host: trials.site.host(host).group_name for host in rates}
    usual = {
        kind: fleet(max(host_rates) for host, host_rates in rates.items() if kinds[host] == kind)
        for kind in kinds.values()
    }
    return [
        Observation(host, host_rates, usual[kinds[host]], "1/s", "own steps")
        for host, host_rates in rates.items()
    ]


def _expected_step_s(trials: Trials, full_case: Case, observations: list[Observation]) -> float:
    """Return the seconds of a step on all hosts by the planner; 0 if it has no estimate or nothing was measured."""
    groups = trials.best(*full_case)
    expected = exchange(trials.site, full_case[0], groups[0]) if groups else None
    if expected is None:
        return 0.0
    compute_s = max(
        trials.samples((observation.subject,)) / observation.fleet.median for observation in observations
    )
    return compute_s + expected.exposed_s(compute_s)


def _host_expectation(trials: Trials, host: str, hosts: int, step_s: float) -> Expectation:
    """Return the samples per second that a host needs, so that `hosts` hosts reach a step in `step_s` seconds."""
    reason = _("the rate with which {hosts} hosts together train as fast as the planner expects", hosts=hosts)
    return Expectation(trials.samples((host,)) / step_s, "1/s", reason, MIN_HOST_SHARE)


def of_scaling(trials: Trials, case: Case) -> Iterator[Verdict]:
    """Judge each group of that size by its compute share of a step; nothing where the planner has no estimate."""
    return (
        judge(BENCH, observation, expectation, SLOW_LINK)
        for observation, expectation in _scaled(trials, case)
    )


def _scaled(trials: Trials, case: Case) -> Iterator[tuple[Observation, Expectation]]:
    """Yield for each group of hosts the share of a step left for computing, in each pass, and the expected share.

    Nothing where the planner has no estimate.
    """
    passes = trials.passes_by_group(*case)
    usual = fleet(max(group.compute_share for group in several) for several in passes.values())
    for hosts, several in passes.items():
        expected = exchange(trials.site, case[0], several[0])
        if expected is not None:
            expectation = expected_compute_share(
                max(several, key=lambda group: group.compute_share).compute_s, expected
            )
            shares = [group.compute_share for group in several]
            yield (
                Observation(fold(list(hosts)), shares, usual, expectation.unit, f"scaling, {case[0].name}"),
                expectation,
            )


def of_data(trials: Trials) -> Iterator[Verdict]:
    """Yield a failure for each group whose ranks have another loss, or gradients other than the mean of all.

    If none has, one OK for the largest group; nothing without groups.
    """
    groups = [group for several in trials.all().values() for group in several]
    bad = {group.hosts: group.wrong for group in groups if group.wrong}
    for hosts, wrong in bad.items():
        yield Verdict(fold(list(hosts)), BENCH, Status.FAIL, "; ".join(wrong), EQUAL, WRONG, "data")
    if groups and not bad:
        largest = fold(list(max(groups, key=lambda group: len(group.hosts)).hosts))
        yield Verdict(
            largest,
            BENCH,
            Status.OK,
            _("losses and gradients are equal on all ranks of each of {count} groups", count=len(groups)),
            EQUAL,
            part="data",
        )


def of_failures(trials: Trials) -> Iterator[Verdict]:
    """Yield an `unknown` verdict for each group that failed while all its hosts still answer."""
    alive = {*trials.site.stage.hosts}
    for (route, hosts), reason in trials.failed.items():
        if {*hosts} <= alive:
            part = f"scaling, {route}"
            yield Verdict(fold(list(hosts)), BENCH, Status.UNKNOWN, reason, fix=STRAY, part=part)
