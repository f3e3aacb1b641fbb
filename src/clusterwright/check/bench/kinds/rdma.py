"""RDMA between every pair of hosts, on all rails at once: bandwidth both ways, latency, and GPUDirect where it can.

A bench of its own beside `network`: over the same ports TCP is another path with another limit, that rendezvous and
storage take; here each rail is an end of its own, and is named by its device. No figure is believed before both
ends have said that they went by the declared device and link. Never run on hardware of ours.
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
from clusterwright.check.bench.rounds import Pair, apart, round_robin
from clusterwright.check.bench.site import Outcome, Site
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.networks import Network

BENCH = "rdma"
TIMES = tuple(test.quantity for test in TESTS if test.unit == "s")
RATES = tuple(quantity for quantity in QUANTITIES if quantity not in TIMES)
SIMULATED = "a lab's RDMA ports are simulated and carry nothing: their rates cannot be measured"
PACKAGE = "install perftest on every host (apt-get install perftest; dnf install perftest)"
PORT = "look at the rail's port: cable, switch port, PCIe lanes of the adapter (wright check; mlxlink, ibqueryerrors)"
LATE = "look at the rail's port and at power saving of the host: C-states and governor (wright check)"

MENDS = {
    GDR: "load nvidia-peermem; adapter and GPU under one PCIe switch, ACS off (nvidia-smi topo -m; wright check)"
}


def rdma(site: Site) -> Outcome:
    """All pairs in rounds, once in each direction; then once more those in doubt."""
    network = site.cluster.networks.compute
    if why := _not_at_all(site, network):
        return Outcome(verdicts=tuple(Verdict(host, BENCH, *why) for host in site.stage.hosts))
    assert network is not None  # noqa: S101 (said above)
    bench = Bench(site, network)
    bench.look()
    rounds = round_robin(site.stage.hosts)
    site.say(f"{network.rails} rails of {network.kind}, {2 * len(rounds)} rounds of pairs")
    passes = [bench.measured(rounds)]
    again = _in_doubt(bench, passes[0])
    if again:
        site.say(f"measured again: {len(again)} pairs")
        passes.append(bench.measured(apart(again)))
    found = (*gathered(_judged(bench, passes)), *_without(bench))
    return Outcome(tuple(_rows(bench, passes)), found, tuple(dict.fromkeys(bench.notes)))


def _not_at_all(site: Site, network: Network | None) -> tuple[Status, str, str, str] | None:
    """Why nothing can be measured: status, what was seen, what was wanted, what mends it."""
    if network is None or network.kind == "ethernet":
        return Status.SKIPPED, "no RDMA is declared (networks.compute.kind)", "", ""
    if site.cluster.lab:
        return Status.UNKNOWN, SIMULATED, "", ""
    missing = [program for program in PROGRAMS if not site.have(program)]
    if missing:
        saw = f"{', '.join(missing)} not on {', '.join(site.without(missing[0]))}: nothing measured"
        return Status.UNKNOWN, saw, "perftest on every host", PACKAGE
    return None


def _in_doubt(bench: Bench, first: Pass) -> tuple[Pair, ...]:
    """Pairs of hosts of which some rail is in doubt, by any figure, or came to nothing."""
    found: list[Pair] = []
    for quantity in RATES:
        seen = links.Passes((first.values(quantity),))
        found += links.in_doubt(seen, _want(bench, quantity))
    for quantity in TIMES:
        found += latency.late((first.values(quantity),), rdma_expected.latency(quantity, bench.network))
    found += [ends for failed in first.failed.values() for ends in failed]
    hosts = ((one.partition("/")[0], other.partition("/")[0]) for one, other in found)
    return tuple({frozenset(both): both for both in hosts}.values())


def _judged(bench: Bench, passes: list[Pass]) -> Iterator[Verdict]:
    """By every quantity, in the words of hosts and rails."""
    for quantity in QUANTITIES:
        seen = links.Passes(tuple(values for each in passes if (values := each.values(quantity))))
        failed = passes[-1].failed.get(quantity, {})
        judged = _of_times if quantity in TIMES else _of_rates
        found = (*judged(bench, quantity, seen), *links.unmeasured(seen, failed, bench.ends()))
        yield from (_in_words(bench, quantity, each) for each in found)


def _of_rates(bench: Bench, quantity: str, seen: links.Passes) -> tuple[Verdict, ...]:
    return links.verdicts(seen, _want(bench, quantity), "compute") if seen.passes else ()


def _of_times(bench: Bench, quantity: str, seen: links.Passes) -> tuple[Verdict, ...]:
    bound = rdma_expected.latency(quantity, bench.network)
    return tuple(latency.verdicts(BENCH, seen.passes, bound, LATE))


def _want(bench: Bench, quantity: str) -> Expectation:
    groups = (bench.site.host(host).group.gpus for host in bench.site.stage.hosts)
    return rdma_expected.rate(quantity, bench.network, next((gpus for gpus in groups if gpus), None))


def _in_words(bench: Bench, quantity: str, each: Verdict) -> Verdict:
    """Of a host and its rail, or of the way between two hosts on a rail."""
    first, _, second = each.subject.partition(ARROW)
    host, _, rail = first.partition("/")
    if second:
        subject = pair(host, second.partition("/")[0])
        return replace(each, subject=subject, check=BENCH, part=rail, saw=f"{quantity}: {each.saw}")
    device = bench.hosts[host].each[int(rail.removeprefix("rail "))].device
    which = f"{quantity}, {each.part}" if each.part in links.WAYS else quantity
    mend = MENDS.get(quantity, PORT) if each.mend and each.part in links.WAYS else each.mend
    return replace(each, subject=host, check=BENCH, part=rail, saw=f"{device} {which}: {each.saw}", mend=mend)


def _without(bench: Bench) -> Iterator[Verdict]:
    """Hosts that said nothing of their ports, and declared rails that are not there."""
    for host, why in bench.silent.items():
        yield Verdict(host, BENCH, Status.UNKNOWN, why, mend="run the bench again, without it if it stays so")
    wanted = f"{bench.network.rails} rails of {bench.network.kind} (networks.compute)"
    for host, found in bench.hosts.items():
        for rail, why in found.wrong.items():
            yield Verdict(
                host,
                BENCH,
                Status.FAIL,
                why,
                wanted,
                "wright check FILE says more of the port",
                f"rail {rail}",
            )


def _rows(bench: Bench, passes: list[Pass]) -> Iterator[Measurement]:
    for number, found in enumerate(passes):
        for quantity, readings in found.readings.items():
            for ends, each in readings.items():
                if each.value is not None:
                    how: dict[str, Condition] = {
                        "transport": f"verbs over {bench.network.kind}",
                        "mtu": each.mtu,
                    }
                    yield _row(
                        each.way(ends), (quantity, each.test.unit, each.value), {**how, "pass": number + 1}
                    )
        for ends, seconds in found.pings.items():
            yield _row(ends[::-1], ("ibping round trip", "s", seconds), {"pass": number + 1})


def _row(ends: Pair, what: tuple[str, str, float], how: dict[str, Condition]) -> Measurement:
    (source, _, rail), (target, _, _) = (each.partition("/") for each in ends)
    return Measurement(BENCH, f"{pair(source, target)} {rail}", *what, (source, target), how)
