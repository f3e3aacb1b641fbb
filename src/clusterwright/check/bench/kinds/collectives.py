"""Collectives (all-reduce and others) over all hosts: a sweep with verified data; a slow group is bisected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clusterwright import catalog
from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.culprits.bisect import Group
from clusterwright.check.bench.culprits.culprits import Counted, Culprit, culprit_verdict, culprits
from clusterwright.check.bench.culprits.groups import GroupPlan, Groups, ranks_of
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.kinds import network
from clusterwright.check.bench.measure import Condition, Measurement
from clusterwright.check.bench.parsers.sweep import HEAD, Sweep
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.transport import carrier
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold
from clusterwright.i18n import _
from clusterwright.plan.collectives import Collective, bus_bw_bytes_per_s
from clusterwright.plan.machines import machine_of

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")
NCCL_SIZES = (8, 2**13, 2**20, 2**25, 2**30, 2**33)
NCCL_ENOUGH = 0.8  # stas00/ml-engineering, network/benchmarks: 80 % of the advertised rate
# Gloo's ring waits for each step in turn: 0.93 of line rate on four hosts of a lab, less where cores are busy.
GLOO_ENOUGH = 0.6
GLOO_STEP_S, GLOO_MOST = 0.25, 2**26
ITERATIONS = 5


def collectives(site: BenchSite) -> BenchOutcome:
    """Measure all collectives over all hosts by size, and return measurements, verdicts and notes.

    If the largest all-reduce is slow twice, groups of hosts are measured to find the part at fault.
    """
    groups, plan, hosts = Groups(site), plan_of(site), site.stage.hosts
    site.log(
        _(
            "{backend}, {ranks} ranks on {hosts}",
            backend=plan.backend,
            ranks=ranks(site, hosts, plan),
            hosts=fold(list(hosts)),
        )
    )
    sweep = groups.run([hosts], plan)[hosts]
    hosts = site.stage.hosts  # without hosts lost during the sweep
    if sweep is None:
        return BenchOutcome(verdicts=tuple(_of_failure(site, groups, plan, hosts)))
    _log_sweep(site, sweep)
    attempts, least = [sweep], expectation(site, hosts, plan)
    if _rate(sweep) < least.least:
        retry = groups.run([hosts], _all_reduce_plan(plan))[hosts]
        attempts += [retry] if retry else []
    verdicts, notes = [_of_data(hosts, sweep)], _led_astray(site, hosts, sweep)
    rate = max(map(_rate, attempts))
    slow = rate < least.least
    parts, round_count = _culprits(site, groups, plan, hosts) if slow else ((), 0)
    if slow:
        rounds = len(attempts) + round_count
        notes += (
            _("bisection of slow groups: {rounds} rounds, {hosts} hosts", rounds=rounds, hosts=len(hosts)),
        )
    notes += tuple(
        _("{kind} skipped: {reason}", kind=kind, reason=reason) for kind, reason in sweep.skipped.items()
    )
    status = Status.WARN if slow else Status.OK  # a culprit fails in its own verdict
    verdicts.append(_of_rate(hosts, rate, least, status))
    verdicts += [culprit_verdict(part, least) for part in parts]
    rows = tuple(
        row for number, attempt in enumerate(attempts) for row in _rows(hosts, plan, attempt, number + 1)
    )
    return BenchOutcome(rows, tuple(verdicts), notes)


def plan_of(site: BenchSite) -> GroupPlan:
    """Return NCCL's plan if every host has NCCL and a driver, and is no lab host.

    Else Gloo's, with messages of at most 0.25 s.
    """
    versions = [site.facts[host]["versions"] for host in site.stage.hosts]
    if (
        all(host_versions["nccl"] and host_versions["driver"] for host_versions in versions)
        and not site.cluster.lab
    ):
        return GroupPlan("nccl", KINDS, NCCL_SIZES, 20, 300.0)
    largest = int(min(GLOO_MOST, network.expectation(site).value * GLOO_STEP_S)) // 1024 * 1024
    sizes = (1024, max(2048, largest // 16 // 1024 * 1024), max(4096, largest))
    return GroupPlan("gloo", KINDS, sizes, ITERATIONS, 60.0)


def ranks(site: BenchSite, group: Group, plan: GroupPlan) -> int:
    """Return the number of ranks of a group of hosts under the plan's backend."""
    return sum(ranks_of(site, host, plan.backend) for host in group)


def expectation(site: BenchSite, group: Group, plan: GroupPlan) -> Expectation:
    """Return the expected bus bandwidth of a group's largest all-reduce in bytes/s.

    For NCCL the planner's prediction, for Gloo the rate of one port.
    """
    if plan.backend == "gloo":
        line = network.expectation(site)
        reason = _("Gloo sends each host's traffic through one port; {reason}", reason=line.reason)
        return Expectation(line.value, line.unit, reason, GLOO_ENOUGH)
    host = site.host(group[0])
    machine = replace(
        machine_of(site.cluster, host.group_name, catalog.gpus().values()), gpus=ranks(site, group, plan)
    )
    domain = max(machine.gpus_per_node, min(machine.nvlink_domain, machine.gpus))
    value = float(bus_bw_bytes_per_s(Collective.ALL_REDUCE, plan.sizes[-1], machine, machine.gpus, domain))
    gpus = _(
        "{gpus} {gpu} of node group `{group_name}`",
        gpus=machine.gpus,
        gpu=machine.gpu.name,
        group_name=host.group_name,
    )
    reason = _(
        "the value that `wright plan expect` computes for {gpus} and {sizes} bytes",
        gpus=gpus,
        sizes=plan.sizes[-1],
    )
    return Expectation(value, "bytes/s", reason, NCCL_ENOUGH)


def _all_reduce_plan(plan: GroupPlan) -> GroupPlan:
    return replace(plan, kinds=("all_reduce",), sizes=plan.sizes[-1:])


def _rate(sweep: Sweep) -> float:
    row = sweep.largest("all_reduce")
    return row.bus_bw if row else 0.0


def _culprits(
    site: BenchSite, groups: Groups, plan: GroupPlan, hosts: Group
) -> tuple[tuple[Culprit, ...], int]:
    """Find by bisection which hosts or switches make the group slow; return these and the number of rounds measured.

    A group that failed counts as slow.
    """
    all_reduce_plan = _all_reduce_plan(plan)

    def slow(batch: tuple[Group, ...]) -> tuple[bool, ...]:
        sweeps = groups.run(batch, all_reduce_plan)
        rates = {group: _rate(sweep) if sweep else 0.0 for group, sweep in sweeps.items()}
        bad = tuple(rates[group] < expectation(site, group, plan).least for group in batch)
        lines = (
            f"{fold(list(g))} {amount(rates[g], 'bytes/s')}{' slow' if s else ''}"
            for g, s in zip(batch, bad, strict=True)
        )
        site.log(f"bisecting: {'; '.join(lines)}")
        return bad

    switches = {host: site.host(host).group.switch or "" for host in hosts}
    counted = Counted(slow)
    return culprits(hosts, counted, switches), counted.rounds


def _of_data(hosts: Group, sweep: Sweep) -> Verdict:
    wrong = {row.kind: row.wrong for row in sweep.rows if row.wrong}
    observed = ", ".join(
        _("{kind}: {count} elements of the result are wrong", kind=kind, count=count)
        for kind, count in wrong.items()
    ) or _("every element correct")
    fix = (
        _(
            "a GPU, NIC or memory module corrupts data: bench each half of the hosts (--hosts), "
            "then run wright check"
        )
        if wrong
        else ""
    )
    status = Status.FAIL if wrong else Status.OK
    return Verdict(
        fold(list(hosts)), "collectives", status, observed, _("every element correct"), fix, "data"
    )


def _of_rate(hosts: Group, rate: float, expected_rate: Expectation, status: Status) -> Verdict:
    observed = _("all_reduce busbw {amount}", amount=amount(rate, "bytes/s"))
    fix = (
        ""
        if status is Status.OK
        else _(
            "fix the host, switch or route that the bench names below; "
            "if the bench names none, all hosts are equally slow"
        )
    )
    return Verdict(fold(list(hosts)), "collectives", status, observed, str(expected_rate), fix, "rate")


def _of_failure(site: BenchSite, groups: Groups, plan: GroupPlan, hosts: Group) -> Iterator[Verdict]:
    """Yield an `unknown` verdict on the sweep that failed, and one on each part at fault that smaller groups reveal."""
    observed, fix = _("the sweep failed"), _("read the error messages of the bench above")
    yield Verdict(fold(list(hosts)), "collectives", Status.UNKNOWN, observed, fix=fix, part="rate")
    if len(hosts) > 1:
        least = expectation(site, hosts, plan)
        parts, _rounds = _culprits(site, groups, plan, hosts)
        yield from (culprit_verdict(part, least) for part in parts)


def _log_sweep(site: BenchSite, sweep: Sweep) -> None:
    site.log(f"{HEAD}\n" + "\n".join(map(str, sweep.rows)))


def _transport(plan: GroupPlan, sweep: Sweep) -> str:
    return str(sweep.transport) if plan.backend == "nccl" else f"tcp by {carrier(sweep.carried)}"


def _led_astray(site: BenchSite, hosts: Group, sweep: Sweep) -> tuple[str, ...]:
    """Return a note if the host of rank 0 sent its bytes over another interface than that of the measured network.

    Else an empty tuple; also for InfiniBand and if the interface is not known.
    """
    expected_interface = site.facts[hosts[0]]["interfaces"].get(site.address(hosts[0]))
    interface = carrier({name: byte_count for name, byte_count in sweep.carried.items() if name != "lo"})
    if sweep.transport.net == "NET/IB" or interface in ("", expected_interface):
        return ()
    return (
        _(
            "on {hosts}, {interface} carried most of the traffic instead of {expected_interface} "
            "of network {network_name}",
            hosts=hosts[0],
            interface=interface,
            expected_interface=expected_interface,
            network_name=site.network_name,
        ),
    )


def _rows(hosts: Group, plan: GroupPlan, sweep: Sweep, number: int) -> Iterator[Measurement]:
    how: dict[str, Condition] = {
        "backend": plan.backend,
        "transport": _transport(plan, sweep),
        "pass": number,
    }
    subject = fold(list(hosts))
    for row in sweep.rows:
        about: dict[str, Condition] = {**how, "size": row.size, "ranks": row.ranks, "wrong": row.wrong}
        yield Measurement("collectives", subject, f"{row.kind} busbw", "bytes/s", row.bus_bw, hosts, about)
        yield Measurement("collectives", subject, f"{row.kind} time", "s", row.seconds, hosts, about)
