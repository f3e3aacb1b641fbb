"""Simulation of five teams on 64 GPUs, from Slurm's defaults to our settings, one change at a time.

    python -m bench.simulate [--days 14] [--loads 0.9 1.05 1.2] [--seeds 1 2 3]

The cluster is bench/simulate.yaml, the trace is generated (monitor/simulate/generated.py); all rows use one trace.
`used` is GPU time that jobs requested and had, `held` GPU time unavailable to others, over all GPU time while jobs
arrived. Goal: the figure of field guides for sharing by teams, "utilisation under 60 % -> 92 %".
`--lines N` instead times the parsing of a trace of N lines, one in a thousand of them bad.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from clusterwright.config.load import load_cluster
from clusterwright.monitor.records import sacct
from clusterwright.monitor.simulate import generated
from clusterwright.monitor.simulate.engine import simulate
from clusterwright.monitor.simulate.result import SimulationResult, result
from clusterwright.monitor.simulate.settings import SimulationSettings, of_cluster, slurm_default
from clusterwright.monitor.simulate.trace import trace
from clusterwright.units import human_duration

CLUSTER = Path(__file__).with_suffix(".yaml")
DAY_S = 86400.0


def rows(ours: SimulationSettings) -> Iterator[tuple[str, SimulationSettings]]:
    """Yield each setting with its difference to the one above."""
    default = slurm_default(ours)
    yield "Slurm's defaults (whole hosts, no limits, first come)", default
    queue = next(iter(ours.queues.values()))
    packed = replace(ours, fifo=True, accounts={}, has_time_limits=False)
    endless = {
        queue.name: replace(queue, max_s=default.queues["all"].max_s, default_s=default.queues["all"].max_s)
    }
    yield "+ GPUs handed out one by one", replace(packed, queues=endless)
    yield "+ time limits, so that backfill can plan", replace(ours, fifo=True, accounts={})
    yield "+ fair share: our settings", ours
    for percent in (10, 30):
        most = ours.gpus * (100 - percent) // 100 * 100
        yield (
            f"  plus {percent} % head-room",
            replace(ours, queues={queue.name: replace(queue, most_billed=most)}),
        )


def jobs(settings: SimulationSettings, days: float, load: float, seed: int) -> list[generated.TraceJob]:
    """Return the generated trace of five teams."""
    kind = next(iter(settings.kinds.values()))
    wish = generated.TraceSpec(days, load, settings.gpus, kind.gpus, kind.cpus // kind.gpus)
    return generated.generated(wish, random.Random(seed).random)


def compare(days: float, loads: list[float], seeds: list[int]) -> None:
    """Print a table for each load: medians over traces, and minimum and maximum of `used`."""
    ours = of_cluster(load_cluster(CLUSTER), "ours")
    for load in loads:
        traces = [jobs(ours, days, load, seed) for seed in seeds]
        counts = ", ".join(str(len(each)) for each in traces)
        print(f"\nload {load:g}, {days:g} days, {ours.gpus} GPUs, traces of {counts} jobs")
        print(
            f"{'':55} {'used':>6} {'least..most':>13} {'held':>6} {'Jain':>6}"
            f" {'median':>8} {'9 of 10':>8} {'slowdown':>8}"
        )
        for name, settings in rows(ours):
            found = [result(simulate(each, settings)) for each in traces]
            print(line(name, found))


def line(name: str, found: list[SimulationResult]) -> str:
    """Format the medians over traces."""
    used = [each.used for each in found]
    middle = statistics.median
    return (
        f"{name:55} {middle(used):6.1%} {min(used):6.1%}..{max(used):.1%} {middle(r.held for r in found):6.1%}"
        f" {middle(r.fairness for r in found):6.3f} {human_duration(middle(r.waits.median_s for r in found)):>8}"
        f" {human_duration(middle(r.waits.p90_s for r in found)):>8} {middle(r.waits.slowdown for r in found):8.1f}"
    )


def reading(count: int) -> None:
    """Time the parsing of a trace of `count` lines."""
    good = "|a|u|train|normal|COMPLETED|2026-11-23T{0:02}:{1:02}:00|00:{1:02}:00|01:00:00|1|8|cpu=8,gres/gpu=1,node=1"

    def lines() -> Iterator[str]:
        yield "JobID|Account|User|Partition|QOS|State|Submit|Elapsed|Timelimit|NNodes|NCPUS|ReqTRES"
        for number in range(count):
            bad = number % 1000 == 500
            yield f"{number}|cut" if bad else f"{number}" + good.format(number % 24, 1 + number % 59)

    begun, clock = time.process_time(), time.monotonic()
    found = trace(sacct.read(lines()))
    print(
        f"{count} lines: {time.process_time() - begun:.1f} CPU seconds ({time.monotonic() - clock:.1f} s),"
        f" {len(found.jobs)} jobs, {found.bad} bad lines, {len(found.first_bad)} of them named"
    )


def main() -> None:
    """Run the simulation, or time parsing with `--lines`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=float, default=14)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.9, 1.05, 1.2])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--lines", type=int, default=0)
    given = parser.parse_args()
    if given.lines:
        reading(given.lines)
    else:
        compare(given.days, given.loads, given.seeds)


if __name__ == "__main__":
    main()
