"""Measure rails of pairs of hosts on the stage: in each order one host of each pair is the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.check.bench.rdma.rails import Rail, Rails, rails
from clusterwright.check.bench.rdma.verbs import QUANTITIES, SECONDS, Reading, orders, ping_s, readings
from clusterwright.check.bench.rounds import Pair, Round
from clusterwright.check.bench.site import FIRST_PORT, PORTS, BenchSite
from clusterwright.check.bench.stage import StageAnswer, StagedPart, malformed
from clusterwright.config.networks import Network
from clusterwright.edge.bundler import probe
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS

DISCOVERY_TIMEOUT_S, TEST_S = 60.0, SECONDS + 28.0  # waking a GPU for GPUDirect takes seconds
TIMEOUT_S = 15.0  # programs/rdma.py
# TCP ports where perftest's ends meet: up to 8 tests on up to 16 rails, and one port of the bench itself.
RAIL_PORTS, ORDER_PORTS = 8, 144


def end(host: str, rail: int) -> str:
    """Return the name of one rail of one host: `HOST/rail N`."""
    return f"{host}/rail {rail}"


@dataclass(slots=True)
class Pass:
    """Readings by quantity and by the two ends, the server first; `failed`: errors of the others."""

    readings: dict[str, dict[Pair, Reading]] = field(default_factory=dict)
    pings: dict[Pair, float] = field(default_factory=dict)
    failed: dict[str, dict[Pair, str]] = field(default_factory=dict)  # by quantity

    def values(self, quantity: str) -> dict[Pair, float]:
        """Return the values of a quantity by (source, target) of the bytes; pairs without a value are left out."""
        quantity_readings = self.readings.get(quantity, {})
        return {
            reading.direction(ends): reading.value
            for ends, reading in quantity_readings.items()
            if reading.value is not None
        }


@dataclass(slots=True)
class Bench:
    """Measures rails on the stage; each order uses its own ports."""

    site: BenchSite
    network: Network
    hosts: dict[str, Rails] = field(default_factory=dict)
    unresponsive: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    count: int = 0

    def discover_rails(self) -> None:
        """Store the rails of each host in `hosts`, the reasons of hosts that do not respond in `unresponsive`.

        What cannot be measured (GPUDirect, ibping) is added to `notes`.
        """
        part = StagedPart("rdma", {"role": "ports", "probe": probe("rdma")}, DISCOVERY_TIMEOUT_S)
        variables = self.site.cluster.jobs.variables
        for host, answer in self.site.stage.do(dict.fromkeys(self.site.stage.hosts, part)).items():
            gpus = self.site.host(host).group.gpus
            if answer.reason:
                self.unresponsive[host] = answer.reason
                continue
            try:
                self.hosts[host] = rails(answer.document, self.network, variables, gpus.count if gpus else 0)
            except DATA_ERRORS as error:
                self.unresponsive[host] = malformed(error)
        if not any(
            rail.gpu is not None for host_rails in self.hosts.values() for rail in host_rails.rails.values()
        ):
            self.notes.append(_("GPUDirect not measured: perftest lacks CUDA, or the hosts have no GPUs"))
        if self.network.kind == "infiniband" and not all(
            host_rails.ibping for host_rails in self.hosts.values()
        ):
            self.notes.append(
                _("ibping not run: it is not installed, or the job's user cannot open /dev/infiniband/umad*")
            )

    def ends(self) -> tuple[str, ...]:
        """Return every measurable rail of every host."""
        return tuple(end(host, rail) for host, host_rails in self.hosts.items() for rail in host_rails.rails)

    def measure(self, rounds: Iterable[Round]) -> Pass:
        """Measure the rails of each pair twice, with either host as the server, and return all results.

        Left out are pairs with a host that is lost, or whose rails are unknown.
        """
        bench_pass = Pass()
        for pairs in rounds:
            for directed_pairs in (pairs, tuple(ends[::-1] for ends in pairs)):
                self._round(
                    bench_pass,
                    [ends for ends in directed_pairs if {*ends} <= {*self.site.stage.hosts} & {*self.hosts}],
                )
        return bench_pass

    def _round(self, bench_pass: Pass, pairs: list[Pair]) -> None:
        parts: dict[str, StagedPart] = {}
        for server, client in pairs:
            arguments = self._arguments(server, client)
            limit_s = arguments["limit_s"] + 2 * TIMEOUT_S
            parts[server] = StagedPart("rdma", {"role": "server", **arguments}, limit_s)
            parts[client] = StagedPart("rdma", {"role": "client", **arguments}, limit_s)
        self.count += 1
        answers = self.site.stage.do(parts)
        for ends in pairs:
            if all(host in answers for host in ends):
                self._read(bench_pass, ends, (answers[ends[0]], answers[ends[1]]))

    def _arguments(self, server: str, client: str) -> dict[str, Any]:
        first_port = FIRST_PORT + self.count * ORDER_PORTS % PORTS
        address = self.site.address(server)
        ping = self.hosts[server].ibping and self.hosts[client].ibping
        tests = [
            orders(server_rail, client_rail, address, first_port + 1 + index * RAIL_PORTS, ping=ping)
            for index, (server_rail, client_rail) in enumerate(self._rails(server, client))
        ]
        most = max(map(len, tests), default=0)
        return {
            "address": address,
            "port": first_port,
            "rails": tests,
            "test_s": TEST_S,
            "limit_s": most * TEST_S,
        }

    def _rails(self, server: str, client: str) -> list[tuple[Rail, Rail]]:
        """Return the pairs of rails (the server's, the client's) of the numbers that both hosts have."""
        server_rails, client_rails = self.hosts[server].rails, self.hosts[client].rails
        return [
            (server_rails[number], client_rails[number]) for number in server_rails if number in client_rails
        ]

    def _read(self, bench_pass: Pass, ends: Pair, answers: tuple[StageAnswer, StageAnswer]) -> None:
        reason = next((answer.reason for answer in answers if answer.reason), "")
        for index, (server_rail, client_rail) in enumerate(self._rails(*ends)):
            rail_ends = end(ends[0], server_rail.number), end(ends[1], client_rail.number)
            if reason:
                bench_pass.failed.setdefault(QUANTITIES[0], {})[rail_ends] = reason
                continue
            try:
                outputs = answers[0].document["rails"][index], answers[1].document["rails"][index]
                self._of_rail(bench_pass, rail_ends, readings(server_rail, client_rail, outputs))
                self._ping(bench_pass, rail_ends, outputs[1])
            except DATA_ERRORS as error:
                bench_pass.failed.setdefault(QUANTITIES[0], {})[rail_ends] = malformed(error)

    def _of_rail(self, bench_pass: Pass, rail_ends: Pair, several: Iterable[Reading]) -> None:
        for reading in several:
            quantity = reading.test.quantity
            bench_pass.readings.setdefault(quantity, {})[rail_ends] = reading
            if reading.value is None:
                bench_pass.failed.setdefault(quantity, {})[rail_ends] = reading.reason

    def _ping(self, bench_pass: Pass, rail_ends: Pair, output: Mapping[str, object]) -> None:
        try:
            seconds = ping_s(output)
        except ValueError as error:
            self.notes.append(
                _("ibping on {host}: {error}", host=rail_ends[1].partition("/")[0], error=error)
            )
        else:
            bench_pass.pings |= {} if seconds is None else {rail_ends: seconds}
