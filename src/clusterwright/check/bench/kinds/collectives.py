"""All-reduce and its kin over all hosts: a sweep with verified data; a slow group is bisected to the part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clusterwright import catalog
from clusterwright.check.bench.culprits.bisect import Group
from clusterwright.check.bench.culprits.culprits import Counted, Culprit, culprits, told
from clusterwright.check.bench.culprits.groups import Groups, Plan, ranks_of
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.kinds import network
from clusterwright.check.bench.measure import Condition, Measurement
from clusterwright.check.bench.parsers.sweep import HEAD, Sweep
from clusterwright.check.bench.site import Outcome, Site
from clusterwright.check.bench.transport import carrier
from clusterwright.check.bench.words import amount
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold
from clusterwright.plan.collectives import Kind, bus_bw_bytes_per_s
from clusterwright.plan.machines import machine_of

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")
NCCL_SIZES = (8, 2**13, 2**20, 2**25, 2**30, 2**33)
NCCL_ENOUGH = 0.8  # stas00/ml-engineering, network/benchmarks: 80 % of the advertised rate
# Gloo's ring waits for each step in turn: 0.93 of the line on four hosts of a lab, less where cores are busy.
GLOO_ENOUGH = 0.6
GLOO_STEP_S, GLOO_MOST = 0.25, 2**26
ITERATIONS = 5


def collectives(site: Site) -> Outcome:
    """The sweep over all hosts; where the largest all-reduce is slow twice, what makes it so."""
    groups, plan, whole = Groups(site), plan_of(site), site.stage.hosts
    site.say(f"{plan.backend}, {ranks(site, whole, plan)} ranks on {fold(list(whole))}")
    found = groups.run([whole], plan)[whole]
    whole = site.stage.hosts  # without those that were lost meanwhile
    if found is None:
        return Outcome(verdicts=tuple(_of_failure(site, groups, plan, whole)))
    _tell(site, found)
    attempts, least = [found], expectation(site, whole, plan)
    if _rate(found) < least.least:
        again = groups.run([whole], _all_reduce_alone(plan))[whole]
        attempts += [again] if again else []
    verdicts, notes = [_of_data(whole, found)], _led_astray(site, whole, found)
    rate = max(map(_rate, attempts))
    slow = rate < least.least
    parts, asked = _culprits(site, groups, plan, whole) if slow else ((), 0)
    notes = (*notes, f"bisected: {len(attempts) + asked} rounds, {len(whole)} hosts") if slow else notes
    status = Status.WARN if slow else Status.OK  # the whole is no part: what fails is named by itself
    verdicts.append(_of_rate(whole, rate, least, status))
    verdicts += [told("collectives", part, least) for part in parts]
    rows = tuple(row for number, each in enumerate(attempts) for row in _rows(whole, plan, each, number + 1))
    return Outcome(
        rows, tuple(verdicts), (*notes, *(f"{kind} skipped: {why}" for kind, why in found.skipped.items()))
    )


def plan_of(site: Site) -> Plan:
    """NCCL where every host has its library and a driver, else Gloo; no message longer than a quarter of a second."""
    known = [site.facts[host]["versions"] for host in site.stage.hosts]
    if all(found["nccl"] and found["driver"] for found in known) and not site.cluster.lab:
        return Plan("nccl", KINDS, NCCL_SIZES, 20, 300.0)
    largest = int(min(GLOO_MOST, network.expectation(site).value * GLOO_STEP_S)) // 1024 * 1024
    sizes = (1024, max(2048, largest // 16 // 1024 * 1024), max(4096, largest))
    return Plan("gloo", KINDS, sizes, ITERATIONS, 60.0)


def ranks(site: Site, group: Group, plan: Plan) -> int:
    """Of the whole group."""
    return sum(ranks_of(site, host, plan.backend) for host in group)


def expectation(site: Site, group: Group, plan: Plan) -> Expectation:
    """Bus bandwidth of the largest all-reduce: by the planner for NCCL, of one port's line for Gloo."""
    if plan.backend == "gloo":
        line = network.expectation(site)
        why = f"Gloo passes each host's bus traffic through one port; {line.why}"
        return Expectation(line.value, line.unit, why, GLOO_ENOUGH)
    host = site.host(group[0])
    machine = replace(
        machine_of(site.cluster, host.group_name, catalog.gpus().values()), gpus=ranks(site, group, plan)
    )
    domain = max(machine.gpus_per_node, min(machine.nvlink_domain, machine.gpus))
    value = float(bus_bw_bytes_per_s(Kind.ALL_REDUCE, plan.sizes[-1], machine, machine.gpus, domain))
    why = f"wright plan expect, for {machine.gpus} {machine.gpu.name} of `{host.group_name}` and {plan.sizes[-1]} bytes"
    return Expectation(value, "bytes/s", why, NCCL_ENOUGH)


def _all_reduce_alone(plan: Plan) -> Plan:
    return replace(plan, kinds=("all_reduce",), sizes=plan.sizes[-1:])


def _rate(found: Sweep) -> float:
    row = found.largest("all_reduce")
    return row.bus_bw if row else 0.0


def _culprits(site: Site, groups: Groups, plan: Plan, whole: Group) -> tuple[tuple[Culprit, ...], int]:
    """What makes the whole slow, and the rounds it took; a group that did not end well counts as slow."""
    alone = _all_reduce_alone(plan)

    def slow(asked: tuple[Group, ...]) -> tuple[bool, ...]:
        found = groups.run(asked, alone)
        rates = {group: _rate(each) if each else 0.0 for group, each in found.items()}
        bad = tuple(rates[group] < expectation(site, group, plan).least for group in asked)
        told = (
            f"{fold(list(g))} {amount(rates[g], 'bytes/s')}{' slow' if s else ''}"
            for g, s in zip(asked, bad, strict=True)
        )
        site.say(f"bisecting: {'; '.join(told)}")
        return bad

    leaves = {host: site.host(host).group.switch or "" for host in whole}
    counted = Counted(slow)
    return culprits(whole, counted, leaves), counted.rounds


def _of_data(whole: Group, found: Sweep) -> Verdict:
    wrong = {row.kind: row.wrong for row in found.rows if row.wrong}
    saw = ", ".join(f"{kind}: {count} elements" for kind, count in wrong.items()) or "every element right"
    mend = (
        "a GPU, a NIC or memory changes data: bench the hosts in halves (--hosts), then wright check"
        if wrong
        else ""
    )
    status = Status.FAIL if wrong else Status.OK
    return Verdict(fold(list(whole)), "collectives", status, saw, "every element right", mend, "data")


def _of_rate(whole: Group, rate: float, want: Expectation, status: Status) -> Verdict:
    saw = f"all_reduce busbw {amount(rate, 'bytes/s')}"
    mend = (
        "" if status is Status.OK else "mend the part that is named below; where none is, all hosts are alike"
    )
    return Verdict(fold(list(whole)), "collectives", status, saw, str(want), mend, "rate")


def _of_failure(site: Site, groups: Groups, plan: Plan, whole: Group) -> Iterator[Verdict]:
    """Nothing came of the whole; smaller groups may do better, and tell which host is behind it."""
    saw, mend = "the sweep did not end well", "see what was said above"
    yield Verdict(fold(list(whole)), "collectives", Status.UNKNOWN, saw, mend=mend, part="rate")
    if len(whole) > 1:
        least = expectation(site, whole, plan)
        parts, _rounds = _culprits(site, groups, plan, whole)
        yield from (told("collectives", part, least) for part in parts)


def _tell(site: Site, found: Sweep) -> None:
    site.say(f"{HEAD}\n" + "\n".join(map(str, found.rows)))


def _transport(plan: Plan, found: Sweep) -> str:
    return str(found.transport) if plan.backend == "nccl" else f"tcp by {carrier(found.carried)}"


def _led_astray(site: Site, whole: Group, found: Sweep) -> tuple[str, ...]:
    """The bytes of rank 0's host went by another interface than that of the network that was to be measured."""
    wanted = site.facts[whole[0]]["interfaces"].get(site.address(whole[0]))
    seen = carrier({name: sent for name, sent in found.carried.items() if name != "lo"})
    if found.transport.net == "NET/IB" or seen in ("", wanted):
        return ()
    return (f"on {whole[0]} {seen} carried most of it, not {wanted} of the network {site.network_name}",)


def _rows(whole: Group, plan: Plan, found: Sweep, number: int) -> Iterator[Measurement]:
    how: dict[str, Condition] = {
        "backend": plan.backend,
        "transport": _transport(plan, found),
        "pass": number,
    }
    subject = fold(list(whole))
    for row in found.rows:
        about: dict[str, Condition] = {**how, "size": row.size, "ranks": row.ranks, "wrong": row.wrong}
        yield Measurement("collectives", subject, f"{row.kind} busbw", "bytes/s", row.bus_bw, whole, about)
        yield Measurement("collectives", subject, f"{row.kind} time", "s", row.seconds, whole, about)
