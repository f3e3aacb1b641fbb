"""Expected and measured scaling of a training: a host's own step, and its exposed gradient exchange; pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.culprits.bisect import Group
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.parsers.trained import Trained
from clusterwright.i18n import _
from clusterwright.plan.cnn.step import BACKWARD, BUCKET_BYTES, unhidden

STEADY = 0.9  # ours: a step starts on all ranks when the slowest is ready, and steps vary
NOTHING_HIDES = 1.0  # Gloo sums on the same cores that compute
HEAD = (
    "transport  hosts ranks  samples/s   step ms  spread  efficiency  waiting  all-reduce alone, of the line"
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The expected exchange of gradients: seconds in total, number of buckets, and the share that is always exposed."""

    seconds: float
    buckets: int
    shows: float
    enough: float  # acceptable share of the bandwidth
    reason: str

    @property
    def rule(self) -> str:
        """The rule of how much of the exchange is exposed, as text."""
        if self.shows >= NOTHING_HIDES:
            return _("on a CPU, communication does not overlap with computation")
        return _(
            "the expected exposed communication is the longest of: {shows:.0%} of the communication, the part of it "
            "that is longer than {backward:.0%} of the step without communication, and one of its {buckets} buckets",
            shows=self.shows,
            backward=BACKWARD,
            buckets=self.buckets,
        )

    def exposed_s(self, compute_s: float, *, bandwidth: float = 1.0) -> float:
        """Return the seconds that a step of `compute_s` waits for the exchange, at that share of the bandwidth."""
        return unhidden(self.seconds / bandwidth / self.buckets, self.buckets, compute_s, self.shows)


def buckets_of(gradient_bytes: int) -> int:
    """Return the number of buckets that DistributedDataParallel splits these gradients into."""
    return ceil(gradient_bytes / BUCKET_BYTES)


def expected_compute_share(compute_s: float, exchange: Exchange) -> Expectation:
    """Return the expected compute share of a step.

    The lowest acceptable share is 0.9 (steps vary) of the share at the acceptable bandwidth.
    """
    exposed_s = exchange.exposed_s(compute_s)
    value = compute_s / (compute_s + exposed_s)
    least = STEADY * compute_s / (compute_s + exchange.exposed_s(compute_s, bandwidth=exchange.enough))
    total = f"{amount(exchange.seconds, 's')} ({exchange.reason})"
    reason = _(
        "step time without communication {without}, plus {exposed} of {total} communication "
        "that is not overlapped; {rule}",
        without=amount(compute_s, "s"),
        exposed=amount(exposed_s, "s"),
        total=total,
        rule=exchange.rule,
    )
    return Expectation(value, "of a step", reason, least / value)


def sizes(hosts: int) -> tuple[int, ...]:
    """Return the sizes of groups to train on: 2, 4, 8 ... and all hosts; none for a single host."""
    doubled = [2**power for power in range(1, hosts.bit_length()) if 2**power < hosts]
    return (*doubled, hosts) if hosts > 1 else ()


def chunks(hosts: Sequence[str], size: int) -> tuple[Group, ...]:
    """Split the hosts into groups of that size, neighbors together; leftover hosts are in no group."""
    return tuple(tuple(hosts[start : start + size]) for start in range(0, len(hosts) - size + 1, size))


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """One table row: groups of one size over one route, by their median."""

    route: str
    groups: tuple[Trained, ...]
    samples_a_rank: int
    single_host_s: float  # seconds of a step of one host alone
    line_bytes_per_s: float

    @property
    def samples_per_s(self) -> float:
        """Samples per second that one group of hosts trains on, by the median time of a step."""
        return self.samples_a_rank * self.groups[0].ranks / self.step_s

    @property
    def efficiency(self) -> float:
        """Samples a second over those of as many single hosts."""
        return self.single_host_s / self.step_s

    @property
    def step_s(self) -> float:
        """Median seconds of a step, over the groups."""
        return statistics.median(group.step_s for group in self.groups)

    @property
    def compute_s(self) -> float:
        """Median seconds of a step without the exchange, over the groups."""
        return statistics.median(group.compute_s for group in self.groups)

    def __str__(self) -> str:
        """Format the row of the scaling table."""
        first_group, waiting, share = self.groups[0], "-", "-"
        spread = statistics.median(group.spread for group in self.groups)
        if len(first_group.hosts) > 1:
            bus_bw = statistics.median(group.bus_bw for group in self.groups)
            share = f"{amount(bus_bw, 'bytes/s')}, {bus_bw / self.line_bytes_per_s:.0%}"
            waiting = f"{1 - statistics.median(group.compute_share for group in self.groups):.0%}"
        return (
            f"{self.route:<9}  {len(first_group.hosts):>5} {first_group.ranks:>5} {self.samples_per_s:>10.4g}"
            f" {self.step_s * 1e3:>9.4g} {spread:>7.0%} {self.efficiency:>11.0%} {waiting:>8}  {share}"
        )


def table(rows: Sequence[ScalingRow]) -> str:
    """Format all rows of the scaling table below its heading."""
    return "\n".join((HEAD, *map(str, rows)))
