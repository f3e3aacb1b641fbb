"""Goodput of a training on nodes that fail: MTBF, optimal checkpoint interval, share of useful time.

Failures are assumed independent and exponential (Young 1974; Daly 2006, doi 10.1016/j.future.2004.11.016):
bursts and undetected faults are not covered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from clusterwright.i18n import N_
from clusterwright.plan.cost.figures import Estimate

HOUR_S = 3600.0

# One node of 8 GPUs. Llama 3 (2407.21783, table 5): 419 unexpected interruptions of a job on 16,384 H100 in
# 54 days. The ends: FAIR's two A100 clusters (2410.21680, figure 7): 6.50 and 2.34 failures in 1,000 node-days.
_LLAMA3_H = 16384 / 8 * 54 * 24 / 419
NODE_MTBF_H = Estimate(
    1000 * 24 / 6.50,
    _LLAMA3_H,
    1000 * 24 / 2.34,
    "h",
    N_("Llama 3 2407.21783 table 5; FAIR RSC-1/RSC-2 2410.21680"),
)
# Detect and restart. MegaScale (2402.15627): under 10 min to detect and diagnose, caught up within 15 min.
RESTART_S = Estimate(120, 600, 900, "s", N_("MegaScale 2402.15627; low: a standby host that is already up"))
# Spot: share of instances reclaimed in a month, from the cloud's advisor bands (p4d 5-10%, p5 15-20%).
SPOT_RECLAIMED_A_MONTH = Estimate(
    0.05, 0.15, 0.20, "share/month", N_("AWS Spot Instance Advisor bands for p4d and p5, 2026-02")
)
MONTH_H = 8760 / 12


@dataclass(frozen=True, slots=True)
class Goodput:
    """Goodput of a training, with its MTBF, checkpoint interval and expected failures."""

    share: float  # useful time over elapsed time, 0 to 1
    mtbf_s: float  # of the whole job; infinite if nothing fails
    checkpoint_every_s: float
    failures: float  # expected over the whole run; 0 if its length is unknown


def job_mtbf_s(node_mtbf_h: float, nodes: float) -> float:
    """Return the mean seconds between failures of a job on `nodes` nodes: the nodes' failure rates add up."""
    return node_mtbf_h * HOUR_S / nodes


def checkpoint_every_s(write_s: float, mtbf_s: float) -> float:
    """Return the optimal compute time between two checkpoints in seconds (Daly 2006, equation 37).

    `write_s` is how long the training stalls for one checkpoint; 0 for an asynchronous checkpoint. Stalls of twice
    the MTBF or longer give the MTBF.
    """
    if write_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = math.sqrt(write_s / (2 * mtbf_s))
    return math.sqrt(2 * write_s * mtbf_s) * (1 + ratio / 3 + ratio * ratio / 9) - write_s


def goodput_share(every_s: float, write_s: float, restart_s: float, mtbf_s: float) -> float:
    """Return goodput, 0 to 1, with a checkpoint after every `every_s` seconds of compute (Daly 2006, equation 20).

    The expected wall time of one segment is M e^(R/M) (e^((tau + delta)/M) - 1). Infinite `mtbf_s`: only writing costs
    time. Failures so frequent that the exponent exceeds 700 give 0.
    """
    if math.isinf(mtbf_s):
        return every_s / (every_s + write_s) if every_s else 1.0
    exponent = (every_s + write_s) / mtbf_s
    if exponent + restart_s / mtbf_s > 700:  # a double holds up to about e^700: goodput is 0
        return 0.0
    spent = mtbf_s * math.exp(restart_s / mtbf_s) * math.expm1(exponent)
    return min(1.0, every_s / spent)


def goodput(
    nodes: float,
    *,
    write_s: float,
    restart_s: float = RESTART_S.likely,
    node_mtbf_h: float = NODE_MTBF_H.likely,
    length_s: float = 0.0,
) -> Goodput:
    """Compute the goodput of a job on `nodes` nodes with the optimal checkpoint interval.

    Checkpoints are at least 10 s apart: with free ones (`write_s` 0) the optimal interval would be 0. Without failures
    (`node_mtbf_h` infinite) there is no checkpoint. `length_s`: seconds of useful training, for the expected number of
    failures (0: not computed).
    """
    mtbf_s = job_mtbf_s(node_mtbf_h, nodes)
    every_s = max(10.0, checkpoint_every_s(write_s, mtbf_s)) if math.isfinite(mtbf_s) else math.inf
    share = 1.0 if math.isinf(mtbf_s) else goodput_share(every_s, write_s, restart_s, mtbf_s)
    elapsed_s = length_s / share if share else math.inf
    return Goodput(share, mtbf_s, every_s, elapsed_s / mtbf_s if length_s else 0.0)


def spot_node_mtbf_h(reclaimed_a_month: float) -> float:
    """Return the mean hours until a spot node is lost: reclaimed by the cloud, or failed.

    `reclaimed_a_month`: the probability, 0 to 1, that the cloud reclaims a node within a month.
    """
    return 1 / (1 / NODE_MTBF_H.likely - math.log1p(-reclaimed_a_month) / MONTH_H)


def straggler_slowdown(nodes: float, slow_share: float, slow_by: float) -> float:
    """Return the expected factor on iteration time if each node is slow with probability `slow_share`.

    A slow node takes the share `slow_by` longer (0.1: 10%), and all nodes wait for the slowest. MegaScale
    (2402.15627, 5.1) observed hosts about 10% slower. The speed model has a fitted term for the spread of healthy
    nodes already; this is for stragglers that were not drained.
    """
    return 1 + slow_by * (1 - math.pow(1 - slow_share, nodes))
