"""Parse what `training.py` printed on the hosts of a group: step times by the slowest rank, and wrong results."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.check.bench.culprits.bisect import Group
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.check.bench.transport import Transport, of_nccl
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_document

Report = Mapping[str, Any]

# Ours. Equal hosts give equal bits; another kind of CPU sums in another order.
ALIKE_LOSS, ALIKE_NORM = 1e-4, 1e-6
# Relative to the largest gradient: bf16 has 8 bits, and a GPU sums in another order each time.
MOST_OFF = 0.02


@dataclass(frozen=True, slots=True)
class Trained:
    """Step times of one group in seconds, with and without the gradient exchange; `wrong`: what was wrong, as text."""

    hosts: Group
    ranks: int
    step_times: tuple[float, ...]
    compute_times: tuple[float, ...]
    by_host: Mapping[
        str, float
    ]  # mean seconds of a step without the exchange, as other programs may run there
    all_reduce_s: float  # of as many bytes as the gradients have, alone
    gradient_bytes: int
    sent_bytes: Mapping[str, int]  # bytes sent by each host over the interface of the gradients' network
    wrong: tuple[str, ...]
    transport: Transport

    @property
    def step_s(self) -> float:
        """Median seconds of a training step, gradient exchange included."""
        return statistics.median(self.step_times)

    @property
    def spread(self) -> float:
        """Interquartile range of the step times, as a share of the median."""
        low, _middle, high = statistics.quantiles(self.step_times, n=4)
        return (high - low) / self.step_s

    @property
    def compute_s(self) -> float:
        """Median seconds of a step without the exchange, measured in the same minutes."""
        return statistics.median(self.compute_times)

    @property
    def compute_share(self) -> float:
        """Share of a step left for computing: the rest waits for the exchange."""
        return min(1.0, self.compute_s / self.step_s)

    @property
    def bus_bytes(self) -> float:
        """Bytes that one step's all-reduce passes through each rank, as nccl-tests counts bus bandwidth."""
        return self.gradient_bytes * 2 * (self.ranks - 1) / self.ranks

    @property
    def bus_bw(self) -> float:
        """Bytes/s of the all-reduce alone; 0 with one rank."""
        return self.bus_bytes / self.all_reduce_s


def trained(hosts: Group, answers: Sequence[StageAnswer]) -> Trained:
    """Parse one group's answers; skips lines of other forms (warnings of torch).

    Raises:
        ValueError: A host's ranks reported nothing.
    """
    lines = {host: _lines(answer.out) for host, answer in zip(hosts, answers, strict=True)}
    reports_by_host = {
        host: [record["training"] for record in records if "training" in record]
        for host, records in lines.items()
    }
    if missing_hosts := [host for host, host_reports in reports_by_host.items() if not host_reports]:
        raise ValueError(
            _(
                "no rank of {missing_hosts} reported its step times",
                missing_hosts=", ".join(missing_hosts),
            )
        )
    reports = [report for host_reports in reports_by_host.values() for report in host_reports]
    log = (line for record in lines[hosts[0]] for line in record.get("log", ()))
    return Trained(
        hosts,
        len(reports),
        _slowest(reports, "together"),
        _slowest(reports, "alone"),
        {
            host: statistics.fmean(_slowest(host_reports, "alone"))
            for host, host_reports in reports_by_host.items()
        },
        statistics.median(_slowest(reports, "all_reduce")),
        reports[0]["gradient_bytes"],
        {host: host_reports[0]["sent"] for host, host_reports in reports_by_host.items()},
        tuple(_wrong(reports)),
        of_nccl(log),
    )


def _lines(out: str) -> list[dict[str, Any]]:
    return [parse_document(line, allow_nan=True) for line in out.splitlines() if line.startswith("{")]


def _slowest(reports: Iterable[Report], key: str) -> tuple[float, ...]:
    """Return, for each step, the largest value of this key among the ranks' reports: that of the slowest rank."""
    return tuple(max(step) for step in zip(*(report[key] for report in reports), strict=True))


def _wrong(reports: Sequence[Report]) -> Iterable[str]:
    """Yield an English text for losses or gradient norms that differ between ranks, and for gradients off their mean.

    NaN counts as different.
    """
    losses, norms = ([report[key] for report in reports] for key in ("loss", "norm"))
    if not _alike(losses, ALIKE_LOSS):
        yield f"losses differ between ranks: {min(losses):.6g} to {max(losses):.6g}"
    if not _alike(norms, ALIKE_NORM):
        yield f"gradients differ between ranks: norms {min(norms):.6g} to {max(norms):.6g}"
    if not all(report["off"] <= MOST_OFF for report in reports):
        yield f"gradients are {max(report['off'] for report in reports):.1%} off the mean of all ranks"


def _alike(values: Sequence[float], share: float) -> bool:
    return all(abs(value - values[0]) <= share * abs(values[0]) for value in values)
