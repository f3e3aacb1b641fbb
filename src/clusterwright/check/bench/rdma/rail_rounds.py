"""Measures rails of pairs of hosts on stage: each order has one end of each pair serve the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.check.bench.rdma.rails import Rail, Rails, rails
from clusterwright.check.bench.rdma.verbs import QUANTITIES, SECONDS, Reading, orders, ping_s, readings
from clusterwright.check.bench.rounds import Pair, Round
from clusterwright.check.bench.site import FIRST_PORT, PORTS, Site
from clusterwright.check.bench.stage import Answer, Part
from clusterwright.config.networks import Network
from clusterwright.edge.bundler import probe

LOOK_S, TEST_S = 60.0, SECONDS + 28.0  # waking a GPU for GPUDirect takes seconds
PATIENCE_S = 15.0  # programs/rdma.py
# Of TCP, for perftest's ends to meet: up to 8 tests on up to 16 rails, and one that is the bench's own.
RAIL_PORTS, ORDER_PORTS = 8, 144


def end(host: str, rail: int) -> str:
    """One rail of one host, as pairs of them are kept."""
    return f"{host}/rail {rail}"


@dataclass(slots=True)
class Pass:
    """Readings by quantity and by the two ends, the server's first; and why some came to nothing."""

    readings: dict[str, dict[Pair, Reading]] = field(default_factory=dict)
    pings: dict[Pair, float] = field(default_factory=dict)
    failed: dict[str, dict[Pair, str]] = field(default_factory=dict)  # by quantity

    def values(self, quantity: str) -> dict[Pair, float]:
        """By source and target of the bytes."""
        found = self.readings.get(quantity, {})
        return {each.way(ends): each.value for ends, each in found.items() if each.value is not None}


@dataclass(slots=True)
class Bench:
    """Measures on stage; each order has ports of its own."""

    site: Site
    network: Network
    hosts: dict[str, Rails] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    count: int = 0

    def look(self) -> None:
        """Which rails each host has."""
        part = Part("rdma", {"role": "ports", "probe": probe("rdma")}, LOOK_S)
        variables = self.site.cluster.jobs.variables
        for host, answer in self.site.stage.do(dict.fromkeys(self.site.stage.hosts, part)).items():
            gpus = self.site.host(host).group.gpus
            if answer.why:
                self.silent[host] = answer.why
            else:
                self.hosts[host] = rails(answer.document, self.network, variables, gpus.count if gpus else 0)
        if not any(rail.gpu is not None for each in self.hosts.values() for rail in each.each.values()):
            self.notes.append("GPUDirect not measured: perftest is not built with CUDA, or there are no GPUs")
        if self.network.kind == "infiniband" and not all(each.ibping for each in self.hosts.values()):
            self.notes.append(
                "no ibping: it is not there, or the job's user may not open /dev/infiniband/umad*"
            )

    def ends(self) -> tuple[str, ...]:
        """Every rail of every host that can be measured."""
        return tuple(end(host, rail) for host, found in self.hosts.items() for rail in found.each)

    def measured(self, rounds: Iterable[Round]) -> Pass:
        """Each pair with either end as the server."""
        found = Pass()
        for pairs in rounds:
            for both in (pairs, tuple(ends[::-1] for ends in pairs)):
                self._round(
                    found, [ends for ends in both if {*ends} <= {*self.site.stage.hosts} & {*self.hosts}]
                )
        return found

    def _round(self, found: Pass, pairs: list[Pair]) -> None:
        parts: dict[str, Part] = {}
        for server, client in pairs:
            given = self._given(server, client)
            limit_s = given["limit_s"] + 2 * PATIENCE_S
            parts[server] = Part("rdma", {"role": "server", **given}, limit_s)
            parts[client] = Part("rdma", {"role": "client", **given}, limit_s)
        self.count += 1
        answers = self.site.stage.do(parts)
        for ends in pairs:
            if all(host in answers for host in ends):
                self._read(found, ends, (answers[ends[0]], answers[ends[1]]))

    def _given(self, server: str, client: str) -> dict[str, Any]:
        first = FIRST_PORT + self.count * ORDER_PORTS % PORTS
        address = self.site.address(server)
        ping = self.hosts[server].ibping and self.hosts[client].ibping
        tests = [
            orders(one, other, address, first + 1 + place * RAIL_PORTS, ping=ping)
            for place, (one, other) in enumerate(self._rails(server, client))
        ]
        most = max(map(len, tests), default=0)
        return {
            "address": address,
            "port": first,
            "rails": tests,
            "test_s": TEST_S,
            "limit_s": most * TEST_S,
        }

    def _rails(self, server: str, client: str) -> list[tuple[Rail, Rail]]:
        """Those that both have."""
        one, other = self.hosts[server].each, self.hosts[client].each
        return [(one[number], other[number]) for number in one if number in other]

    def _read(self, found: Pass, ends: Pair, answers: tuple[Answer, Answer]) -> None:
        why = next((each.why for each in answers if each.why), "")
        for place, (one, other) in enumerate(self._rails(*ends)):
            both = end(ends[0], one.number), end(ends[1], other.number)
            if why:
                found.failed.setdefault(QUANTITIES[0], {})[both] = why
            else:
                said = answers[0].document["rails"][place], answers[1].document["rails"][place]
                self._of_rail(found, both, readings(one, other, said))
                self._ping(found, both, said[1])

    def _of_rail(self, found: Pass, both: Pair, several: Iterable[Reading]) -> None:
        for each in several:
            quantity = each.test.quantity
            found.readings.setdefault(quantity, {})[both] = each
            if each.value is None:
                found.failed.setdefault(quantity, {})[both] = each.why

    def _ping(self, found: Pass, both: Pair, said: Mapping[str, object]) -> None:
        try:
            seconds = ping_s(said)
        except ValueError as why:
            self.notes.append(f"ibping on {both[1].partition('/')[0]}: {why}")
        else:
            found.pings |= {} if seconds is None else {both: seconds}
