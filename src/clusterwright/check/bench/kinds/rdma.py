"""Measure RDMA between every pair of hosts, on all rails at once: bandwidth, latency, and GPUDirect if possible.

A bench apart from `network`: on the same ports TCP is another path with another limit, used by rendezvous and
storage; here each rail is an endpoint of its own, named by its device. A figure counts only after both
ends have reported the declared device and link. Never run on hardware of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clusterwright.check.bench import latency, links
from clusterwright.check.bench.gathered import gathered
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.measure import ARROW, Condition, Measurement, pair
from clusterwright.check.bench.rdma import expected as rdma_expected
from clusterwright.check.bench.rdma.rail_rounds import Bench, Pass
from clusterwright.check.bench.rdma.verbs import GDR, PROGRAMS, QUANTITIES, TESTS
from clusterwright.check.bench.rounds import Pair, disjoint_rounds, round_robin
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.networks import Network
from clusterwright.i18n import N_, _

BENCH = "rdma"
TIMES = tuple(test.quantity for test in TESTS if test.unit == "s")
RATES = tuple(quantity for quantity in QUANTITIES if quantity not in TIMES)
SIMULATED = N_("RDMA ports of a lab are simulated: their rates cannot be measured")
PACKAGE = N_("install perftest on every host (apt-get install perftest; dnf install perftest)")
PORT = N_(
    "check the rail's port: cable, switch port, PCIe lanes of the adapter (wright check; "
    "mlxlink, ibqueryerrors)"
)
LATE = N_("check the rail's port and the host's power saving: C-states and governor (wright check)")

FIXES = {
    GDR: N_(
        "load nvidia-peermem; place adapter and GPU under one PCIe switch, with ACS off "
        "(nvidia-smi topo -m; wright check)"
    )
}


def rdma(site: BenchSite) -> BenchOutcome:
    """Measure RDMA between all pairs of hosts in rounds, once in each direction; then those in doubt once more.

    Without RDMA in the cluster file, in a lab, or without perftest on every host nothing is measured.
    """
    network = site.cluster.networks.compute
    if reason := _not_at_all(site, network):
        return BenchOutcome(verdicts=tuple(Verdict(host, BENCH, *reason) for host in site.stage.hosts))
    assert network is not None  # noqa: S101 (checked above)
    bench = Bench(site, network)
    bench.discover_rails()
    rounds = round_robin(site.stage.hosts)
    site.log(
        _(
            "{rails} rails of {kind}, {rounds} rounds of pairs",
            rails=network.rails,
            kind=network.kind,
            rounds=2 * len(rounds),
        )
    )
    passes = [bench.measure(rounds)]
    retry_pairs = _in_doubt(bench, passes[0])
    if retry_pairs:
        site.log(_("measured again: {count} pairs", count=len(retry_pairs)))
        passes.append(bench.measure(disjoint_rounds(retry_pairs)))
    all_verdicts = (*gathered(_judged(bench, passes)), *_missing_rails(bench))
    return BenchOutcome(tuple(_rows(bench, passes)), all_verdicts, tuple(dict.fromkeys(bench.notes)))


def _not_at_all(site: BenchSite, network: Network | None) -> tuple[Status, str, str, str] | None:
    """Return why nothing can be measured (status, observed, expected, fix); None if something can.

    Skipped without a declared RDMA network; unknown in a lab, and if a host lacks a program.
    """
    if network is None or network.kind == "ethernet":
        return Status.SKIPPED, _("the cluster file declares no RDMA (networks.compute.kind)"), "", ""
    if site.cluster.lab:
        return Status.UNKNOWN, SIMULATED, "", ""
    missing = [program for program in PROGRAMS if not site.have(program)]
    if missing:
        observed = _(
            "{programs} not installed on {hosts}: the RDMA bench measured nothing",
            programs=", ".join(missing),
            hosts=", ".join(site.hosts_missing(missing[0])),
        )
        return Status.UNKNOWN, observed, _("perftest on every host"), PACKAGE
    return None


def _in_doubt(bench: Bench, first_pass: Pass) -> tuple[Pair, ...]:
    """Return pairs of hosts with a rail that is in doubt in any quantity, or failed."""
    suspects: list[Pair] = []
    for quantity in RATES:
        passes = links.Passes((first_pass.values(quantity),))
        suspects += links.in_doubt(passes, _expected_rate(bench, quantity))
    for quantity in TIMES:
        suspects += latency.late(
            (first_pass.values(quantity),), rdma_expected.latency(quantity, bench.network)
        )
    suspects += [ends for failed in first_pass.failed.values() for ends in failed]
    hosts = ((source.partition("/")[0], target.partition("/")[0]) for source, target in suspects)
    return tuple({frozenset(host_pair): host_pair for host_pair in hosts}.values())


def _judged(bench: Bench, passes: list[Pass]) -> Iterator[Verdict]:
    """Yield the verdicts on every quantity that was measured on the rails, on hosts and pairs, with the rail as part.

    Also those on ends that could not be measured.
    """
    for quantity in QUANTITIES:
        quantity_passes = links.Passes(
            tuple(values for bench_pass in passes if (values := bench_pass.values(quantity)))
        )
        failed = passes[-1].failed.get(quantity, {})
        judged = _of_times if quantity in TIMES else _of_rates
        verdicts = (
            *judged(bench, quantity, quantity_passes),
            *links.unmeasured(quantity_passes, failed, bench.ends()),
        )
        yield from (_rail_verdict(bench, quantity, verdict) for verdict in verdicts)


def _of_rates(bench: Bench, quantity: str, passes: links.Passes) -> tuple[Verdict, ...]:
    return links.verdicts(passes, _expected_rate(bench, quantity), "compute") if passes.passes else ()


def _of_times(bench: Bench, quantity: str, passes: links.Passes) -> tuple[Verdict, ...]:
    bound = rdma_expected.latency(quantity, bench.network)
    return tuple(latency.verdicts(BENCH, passes.passes, bound, LATE))


def _expected_rate(bench: Bench, quantity: str) -> Expectation:
    groups = (bench.site.host(host).group.gpus for host in bench.site.stage.hosts)
    return rdma_expected.rate(quantity, bench.network, next((gpus for gpus in groups if gpus), None))


def _rail_verdict(bench: Bench, quantity: str, verdict: Verdict) -> Verdict:
    """Convert a verdict on a `HOST/rail N` end, or a pair of them, to one on the host or pair, with the rail as part.

    The observed text gets device and quantity; a bad end gets the fix of its quantity.
    """
    source, _, second = verdict.subject.partition(ARROW)
    host, _, rail = source.partition("/")
    if second:
        subject = pair(host, second.partition("/")[0])
        return replace(
            verdict, subject=subject, check=BENCH, part=rail, observed=f"{quantity}: {verdict.observed}"
        )
    device = bench.hosts[host].rails[int(rail.removeprefix("rail "))].device
    which = f"{quantity}, {verdict.part}" if verdict.part in links.DIRECTIONS else quantity
    fix = FIXES.get(quantity, PORT) if verdict.fix and verdict.part in links.DIRECTIONS else verdict.fix
    return replace(
        verdict,
        subject=host,
        check=BENCH,
        part=rail,
        observed=f"{device} {which}: {verdict.observed}",
        fix=fix,
    )


def _missing_rails(bench: Bench) -> Iterator[Verdict]:
    """Yield verdicts on hosts that did not report their ports, and on declared rails that are missing."""
    for host, reason in bench.unresponsive.items():
        yield Verdict(
            host,
            BENCH,
            Status.UNKNOWN,
            reason,
            fix=_("run the bench again; if the result repeats, run without this host"),
        )
    expected = _(
        "{rails} rails of {kind}, as networks.compute declares",
        rails=bench.network.rails,
        kind=bench.network.kind,
    )
    for host, host_rails in bench.hosts.items():
        for rail, reason in host_rails.wrong.items():
            yield Verdict(
                host,
                BENCH,
                Status.FAIL,
                reason,
                expected,
                _("run `wright check` for details of the port"),
                _("rail {rail}", rail=rail),
            )


def _rows(bench: Bench, passes: list[Pass]) -> Iterator[Measurement]:
    for number, bench_pass in enumerate(passes):
        for quantity, readings in bench_pass.readings.items():
            for ends, reading in readings.items():
                if reading.value is not None:
                    how: dict[str, Condition] = {
                        "transport": f"verbs over {bench.network.kind}",
                        "mtu": reading.mtu,
                    }
                    yield _row(
                        reading.direction(ends),
                        (quantity, reading.test.unit, reading.value),
                        {**how, "pass": number + 1},
                    )
        for ends, seconds in bench_pass.pings.items():
            yield _row(ends[::-1], ("ibping round trip", "s", seconds), {"pass": number + 1})


def _row(ends: Pair, figure: tuple[str, str, float], how: dict[str, Condition]) -> Measurement:
    (source, _, rail), (target, _, _) = (end.partition("/") for end in ends)
    return Measurement(BENCH, f"{pair(source, target)} {rail}", *figure, (source, target), how)
