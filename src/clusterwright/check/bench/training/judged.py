"""What trials come to: hosts by their own steps, groups by what the exchange of gradients leaves of a step."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bench.fleet import fleet
from clusterwright.check.bench.judging import Expectation, Seen, judge, suspect
from clusterwright.check.bench.training.routes import ALONE
from clusterwright.check.bench.training.scaling import left
from clusterwright.check.bench.training.trainings import exchange
from clusterwright.check.bench.training.trials import Case, Trials
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold

BENCH = "training"
KEEPS_UP = 0.8  # ours, as with bandwidth: of what each host must do for the whole to scale as it should
SLOW_HOST = "the host computes slowly: wright check FILE; look at clocks, power, and what else runs there"
SLOW_WAY = "mend hosts named here; else wright bench collectives FILE finds the host or link"
WRONG = "a GPU, a NIC or memory changes data: bench the hosts in halves (--hosts), then wright check FILE"
STRAY = "see what was said above; where GPUDirect was not taken: is nvidia_peermem loaded?"
EQUAL = "equal losses and gradients on all ranks"


def in_doubt(trials: Trials, case: Case) -> bool:
    """Worth training again."""
    route, size = case
    if any(name == route.name and len(hosts) == size for name, hosts in trials.failed):
        return True
    if case == (ALONE, 1):
        return any(suspect(seen, None) for seen in hosts_seen(trials))
    return any(suspect(seen, want) for seen, want in _scaled(trials, case))


def of_hosts(trials: Trials, whole: Case) -> Iterator[Verdict]:
    """Each by its own steps, alone and in groups; it must keep up with what the whole should do."""
    seen = hosts_seen(trials)
    step_s = _whole_step_s(trials, whole, seen)
    for each in seen:
        want = _of_each(trials, each.subject, whole[1], step_s) if step_s else None
        yield judge(BENCH, each, want, SLOW_HOST)


def hosts_seen(trials: Trials) -> list[Seen]:
    """Samples a second of every host, without what it waits for others; beside the hosts of its node group."""
    rates: dict[str, list[float]] = {}
    for several in trials.all().values():
        for each in several:
            for host, step_s in each.by_host.items():
                rates.setdefault(host, []).append(trials.samples((host,)) / step_s)
    kinds = {host: trials.site.host(host).group_name for host in rates}
    usual = {
        kind: fleet(max(own) for host, own in rates.items() if kinds[host] == kind) for kind in kinds.values()
    }
    return [Seen(host, own, usual[kinds[host]], "1/s", "own steps") for host, own in rates.items()]


def _whole_step_s(trials: Trials, whole: Case, seen: list[Seen]) -> float:
    """Seconds of a step of all hosts as the planner expects them; 0 where it does not know, or nobody measured it."""
    groups = trials.best(*whole)
    expected = exchange(trials.site, whole[0], groups[0]) if groups else None
    if expected is None:
        return 0.0
    own_s = max(trials.samples((each.subject,)) / each.fleet.median for each in seen)
    return own_s + expected.shown(own_s)


def _of_each(trials: Trials, host: str, hosts: int, step_s: float) -> Expectation:
    """What the host must do, for all of them to take such steps."""
    why = f"for {hosts} hosts to train as the planner expects"
    return Expectation(trials.samples((host,)) / step_s, "1/s", why, KEEPS_UP)


def of_scaling(trials: Trials, case: Case) -> Iterator[Verdict]:
    """Each group of that size."""
    return (judge(BENCH, seen, want, SLOW_WAY) for seen, want in _scaled(trials, case))


def _scaled(trials: Trials, case: Case) -> Iterator[tuple[Seen, Expectation]]:
    """What the exchange leaves of a step, and what it should; nothing where the planner does not know."""
    passes = trials.of(*case)
    usual = fleet(max(each.left for each in several) for several in passes.values())
    for hosts, several in passes.items():
        expected = exchange(trials.site, case[0], several[0])
        if expected is not None:
            want = left(max(several, key=lambda each: each.left).own_s, expected)
            shares = [each.left for each in several]
            yield Seen(fold(list(hosts)), shares, usual, want.unit, f"scaling, {case[0].name}"), want


def of_data(trials: Trials) -> Iterator[Verdict]:
    """Every rank has the same loss and the same gradients, the mean of all."""
    groups = [each for several in trials.all().values() for each in several]
    bad = {each.hosts: each.wrong for each in groups if each.wrong}
    for hosts, wrong in bad.items():
        yield Verdict(fold(list(hosts)), BENCH, Status.FAIL, "; ".join(wrong), EQUAL, WRONG, "data")
    if groups and not bad:
        largest = fold(list(max(groups, key=lambda each: len(each.hosts)).hosts))
        yield Verdict(largest, BENCH, Status.OK, f"equal in {len(groups)} groups", EQUAL, part="data")


def of_failures(trials: Trials) -> Iterator[Verdict]:
    """Groups of which nothing is known."""
    alive = {*trials.site.stage.hosts}
    for (route, hosts), why in trials.failed.items():
        if {*hosts} <= alive:
            part = f"scaling, {route}"
            yield Verdict(fold(list(hosts)), BENCH, Status.UNKNOWN, why, mend=STRAY, part=part)
