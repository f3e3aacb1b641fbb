"""CPU time of parsing and judging the facts of a cluster's hosts.

python -m bench.judging [--hosts N] [--repeats N]

Every host of bench/scale.py's file with N compute hosts has the outputs recorded under tests/check/facts: of each fact
the case of the lab, of an H100 or else the first, and a kernel log with 100 lines of warnings. No host is contacted.
Prints CPU seconds, the best and worst of the repeats, of parsing all outputs and of judging by all checks of `deploy`,
and the slowest checks.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.scale import cluster_file
from clusterwright.check.expectation import Check
from clusterwright.check.fact import Fact, HostSpec
from clusterwright.check.judging import judge
from clusterwright.check.reading import HostReach, Reading, reached, value_of
from clusterwright.check.registry import choose
from clusterwright.config.cluster import Cluster
from clusterwright.config.load import load_cluster

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests/check/facts"
PREFERRED = ("h100_load", "lab_compute", "lab_control")
GOAL_S = 5.0


def main() -> int:
    """Measure and print; return 3 if judging misses the goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cluster = load_cluster(cluster_file(Path(folder) / "cluster.yaml", asked.hosts))
    wants = [HostSpec(cluster, host) for host in cluster.hosts()]
    checks = choose((), "deploy")
    parsing, judging, count = [], [], 0
    for _ in range(asked.repeats):
        began = time.process_time()
        readings = {want.host.name: reading(want, checks) for want in wants}
        parsed = time.process_time()
        count = len(judge(cluster, checks, readings))
        parsing.append(parsed - began)
        judging.append(time.process_time() - parsed)
    print(f"{len(wants)} hosts, {len(checks)} checks, {count} verdicts")
    print(f"parsing: {min(parsing):.2f} s to {max(parsing):.2f} s")
    print(f"judging: {min(judging):.2f} s to {max(judging):.2f} s (goal: {GOAL_S:g} s)")
    for name, seconds in slowest(cluster, checks, readings).most_common(5):
        print(f"  {name}: {seconds:.2f} s")
    return 3 if min(judging) > GOAL_S else 0


def reading(want: HostSpec, checks: Iterable[Check]) -> Reading:
    """Parse the recorded outputs of all facts of one host."""
    facts = {
        fact.id: fact for check in checks if check.when(want) for fact in check.needs if fact is not reached
    }
    reach = HostReach(seconds=0.1, python="3.11.2", requested_at=1.0, began=1.0, ended=1.1, answered=1.1)
    return Reading(reach, {id_: value(fact, want.host.name) for id_, fact in facts.items()})


def value(fact: Fact[Any], name: str) -> Any:
    """Return the value of a fact from its recorded output; missing if there is none."""
    end = {"code": 0, "out": text(fact.id).replace("gpu-node1", name), "err": "", "stopped": ""}
    return value_of(fact, end, fact.id)


_TEXTS: dict[str, str] = {}


def text(fact: str) -> str:
    """Return the recorded output of a fact, cached."""
    if fact not in _TEXTS:
        cases = {path.stem: path for path in sorted((RECORDED / fact).glob("*.txt"))}
        case = next((each for each in PREFERRED if each in cases), next(iter(cases), ""))
        _TEXTS[fact] = kernel_log() if fact == "kernel_log" else cases[case].read_text() if case else ""
    return _TEXTS[fact]


def kernel_log() -> str:
    """Return 100 lines of warnings, of ten kinds, with Xids of four GPUs."""
    kinds = (
        "NVRM: Xid (PCI:0000:{n:02x}:00): 31, pid=4711, name=python3, Ch 00000008, MMU Fault",
        "NVRM: Xid (PCI:0000:{n:02x}:00): 43, pid=4711, name=python3, Ch 00000008",
        "python3[{n}]: segfault at 0 ip 00007f sp 00007ffd error 4 in libc.so.6[7f+195000]",
        "mlx5_core 0000:5c:00.0: Port module event: module {n}, Cable plugged",
        "perf: interrupt took too long ({n} > 2500), lowering kernel.perf_event_max_sample_rate",
        "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PC{n}], AE_NOT_FOUND",
        "nfs: server 10.0.0.9 not responding, timed out",
        "frobnicator {n}: flux capacitor overflow",
        "Memory cgroup out of memory: Killed process {n} (python3) total-vm:100kB",
        "pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.{n}",
    )
    lines = [[1795330000.0 + step * 60, 4, kinds[step % 10].format(n=step % 4)] for step in range(100)]
    whole = {"now": 1795340000.0, "container": False, "source": "journal", "lines": lines}
    return json.dumps(whole | {"left_out": 0, "minors": {}})


def slowest(cluster: Cluster, checks: Iterable[Check], readings: dict[str, Reading]) -> Counter[str]:
    """Return the seconds that each check takes to judge all hosts."""
    found: Counter[str] = Counter()
    for check in checks:
        began = time.process_time()
        judge(cluster, (check,), readings)
        found[check.id] = time.process_time() - began
    return found


if __name__ == "__main__":
    raise SystemExit(main())
