"""Measure the TCP bandwidth of every pair of hosts in both directions, each host with one other at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.links import Passes, in_doubt, unmeasured, verdicts
from clusterwright.check.bench.measure import Condition, Measurement, pair
from clusterwright.check.bench.parsers.iperf3 import Iperf3Stream, stream
from clusterwright.check.bench.rounds import Pair, Round, disjoint_rounds, round_robin
from clusterwright.check.bench.site import BenchOutcome, BenchSite, port
from clusterwright.check.bench.stage import StageAnswer, StagedPart, malformed
from clusterwright.check.bench.transport import strangers
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS
from clusterwright.plan.fabric.expected import TCP_PORT_BYTES_PER_S
from clusterwright.units import GB, format_rate

SECONDS = 2
TIMEOUT_S = 10  # programs/pair.py
# stas00/ml-engineering, network/benchmarks: aim at 80 % of the advertised rate; raw RDMA is held to 90 %.
ENOUGH = 0.8
STREAM_BITS_PER_S = 10 * GB  # one TCP stream on one core fills no more
MOST_STREAMS = 8
HEADERS_IN_MTU, FRAME_BYTES = (
    52,
    38,
)  # IPv4 20, TCP 20 and its time stamps 12; Ethernet 18, preamble 8, gap 12


def network(site: BenchSite) -> BenchOutcome:
    """Measure the TCP bandwidth of all pairs of hosts, in rounds in which each host is in one pair; judge the result.

    Pairs in doubt are measured once more. Without iperf3 on a host, a built-in stream measures all.
    """
    expected_rate = expectation(site) if site.has_network_rate else None
    tool = "iperf3" if site.have("iperf3") else "tcp"
    notes = (
        ()
        if tool == "iperf3"
        else (
            _(
                "iperf3 is not installed on {hosts}: the bench measures with a built-in TCP stream",
                hosts=", ".join(site.hosts_missing("iperf3")),
            ),
        )
    )
    rounds = round_robin(site.stage.hosts)
    site.log(
        _(
            "the bench takes {count} rounds of pairs of hosts, about {seconds} s",
            count=len(rounds),
            seconds=len(rounds) * (2 * SECONDS + 3),
        )
    )
    first_pass, failed = _measure(site, rounds, tool)
    retry_pairs = (*in_doubt(Passes((_speeds(first_pass),)), expected_rate), *failed)
    second, failed = _measure(site, disjoint_rounds(retry_pairs), tool) if retry_pairs else ({}, {})
    if retry_pairs:
        site.log(_("the bench measures {count} doubtful pairs of hosts again", count=len(retry_pairs)))
    passes = Passes((_speeds(first_pass), _speeds(second)) if second else (_speeds(first_pass),))
    measurements = [
        measurement
        for number, streams in enumerate((first_pass, second))
        for measurement in _rows(site, streams, {"tool": tool, "seconds": SECONDS, "pass": number + 1})
    ]
    all_verdicts = (
        *verdicts(passes, expected_rate, site.network_name),
        *unmeasured(passes, failed, site.stage.hosts),
    )
    return BenchOutcome(tuple(measurements), all_verdicts, (*notes, *_led_astray(site, first_pass)))


def expectation(site: BenchSite) -> Expectation:
    """Return the expected TCP rate of a port in bytes/s: its declared rate less headers, in a lab by its rate divisor.

    At most the rate that TCP reaches on an Ethernet or RoCE port; 80% of it is acceptable.
    """
    declared, name, mtu = site.network, site.network_name, site.network.mtu
    share = (mtu - HEADERS_IN_MTU) / (mtu + FRAME_BYTES)
    reason = _("networks.{name}.rate {rate}", name=name, rate=format_rate(declared.rate))
    if site.rate_divisor > 1:
        reason += _(" / lab.rate_divisor {rate_divisor}", rate_divisor=site.rate_divisor)
    reason += _(" x {share:.3f} for headers at networks.{name}.mtu {mtu}", share=share, name=name, mtu=mtu)
    value = declared.rate / site.rate_divisor / 8 * share
    if value > TCP_PORT_BYTES_PER_S:
        value, reason = (
            TCP_PORT_BYTES_PER_S,
            _("the limit of TCP on one port, at any line rate (plan fabric)"),
        )
    return Expectation(value, "bytes/s", reason, ENOUGH)


def streams_for(bits_per_s: float) -> int:
    """Return the number of parallel streams for a line of this rate: one per 10 Gbit/s, from 1 to 8."""
    return int(max(1, min(MOST_STREAMS, -(-bits_per_s // STREAM_BITS_PER_S))))


Streams = dict[Pair, Iperf3Stream]
Failed = dict[Pair, str]


def _measure(site: BenchSite, rounds: tuple[Round, ...], tool: str) -> tuple[Streams, Failed]:
    """Measure the bandwidth of each pair; return each direction's stream, and the errors of pairs.

    An error is there only if both hosts responded. Pairs with a host that was lost before are not measured.
    """
    streams: Streams = {}
    failed: Failed = {}
    for number, pairs in enumerate(rounds):
        alive = [ends for ends in pairs if {*ends} <= {*site.stage.hosts}]
        answers = site.stage.do(_parts(site, alive, tool, number))
        for server, client in alive:
            if client in answers and server in answers:
                try:
                    streams |= _streams(server, client, answers[client])
                except DATA_ERRORS as error:
                    reason = failed[server, client] = malformed(error)
                    site.log(_("{client} with {server}: {error}", client=client, server=server, error=reason))
    return streams, failed


def _parts(site: BenchSite, pairs: list[Pair], tool: str, number: int) -> dict[str, StagedPart]:
    streams = streams_for(site.network.rate / site.rate_divisor) if site.has_network_rate else MOST_STREAMS
    limit_s = 2 * (SECONDS + TIMEOUT_S)
    parts = {}
    for server, client in pairs:
        arguments = {
            "tool": tool, "address": site.address(server), "own": site.address(client), "port": port(number),
            "seconds": SECONDS, "streams": streams,
        }  # fmt: skip
        parts[server] = StagedPart("pair", {"role": "server", **arguments}, limit_s)
        parts[client] = StagedPart("pair", {"role": "client", **arguments}, limit_s)
    return parts


def _streams(server: str, client: str, answer: StageAnswer) -> Streams:
    """Parse both directions of a pair.

    Raises:
        ValueError: A direction failed; has the tool's message.
    """
    if answer.reason:
        raise ValueError(answer.reason)
    directions = (((client, server), "there"), ((server, client), "back"))
    return {ends: stream(answer.document[direction]) for ends, direction in directions}


def _speeds(streams: Mapping[Pair, Iperf3Stream]) -> dict[Pair, float]:
    return {ends: result.bytes_per_s for ends, result in streams.items()}


def _rows(
    site: BenchSite, streams: Mapping[Pair, Iperf3Stream], how: Mapping[str, Condition]
) -> Iterator[Measurement]:
    for ends, result in streams.items():
        astray = strangers(result.ends, site.network.subnet)
        conditions = {
            **how,
            "transport": f"tcp on {site.network_name}" if not astray else f"tcp by {astray[0]}",
        }
        yield Measurement(
            "network", pair(*ends), "bandwidth", "bytes/s", result.bytes_per_s, ends, conditions
        )


def _led_astray(site: BenchSite, streams: Mapping[Pair, Iperf3Stream]) -> Iterator[str]:
    """Yield a note for each pair whose connection did not go over the network to be measured."""
    for ends, result in streams.items():
        if astray := strangers(result.ends, site.network.subnet):
            yield _(
                "the hosts {pair} used {interfaces} in place of an interface of network {network_name}",
                pair=pair(*ends),
                interfaces=", ".join(astray),
                network_name=site.network_name,
            )
