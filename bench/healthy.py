"""False alerts: which alerts fire or are pending while healthy trainings run on a lab with monitoring.

    python -m bench.healthy [--minutes 60]

Needs root. Creates a lab `healthy` of three hosts in its own subnets, applies it with Prometheus and its rules, and
queries that Prometheus at the end. Prints the trainings and their outcomes, failed scrapes, and every alert with its
state; goal: none fires in an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

from bench.lib.lab import Document, bench_lab
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.edge.ssh import Ssh
from clusterwright.launch.events import RemoteReader, wait
from clusterwright.launch.submission import submit

# The CPUs are mostly idle, as when GPUs compute.
TRAIN = """
import time
import torch
from torch.utils.data import DataLoader, TensorDataset
from clusterwright import runtime
run = runtime.start(seed=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
run.track(model=model, optimizer=optimizer)
data = torch.randn(4096, 64, generator=torch.Generator().manual_seed(0))
sampler = runtime.Sampler(4096, batch=32, seed=5)
for (x,) in run.steps(DataLoader(TensorDataset(data), batch_sampler=sampler), total_steps=300):
    time.sleep(0.4)
    loss = (model(x).squeeze(1) - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.step(loss)
run.finish()
"""
JOB = {
    "name": "healthy", "command": ["/shared/healthy.py"], "nodes": 2, "gpus_per_node": 1, "time": "10m",
    "user": "alice", "checkpoint": {"every": "50 steps"},
}  # fmt: skip
FIRST_S = 120.0  # Prometheus has scraped every target, and counters have a first sample


def main() -> None:
    """Run the trainings and print the report."""
    parser = argparse.ArgumentParser(description="Alerts while nothing is wrong.")
    parser.add_argument("--minutes", type=float, default=60)
    minutes = parser.parse_args().minutes
    with bench_lab("healthy", "10.98", 2, monitored) as place:
        time.sleep(FIRST_S)
        report(place.cluster, place.remote, minutes)


def monitored(document: Document) -> None:
    """Enable Prometheus with its alert rules in the cluster file."""
    document["monitoring"] = {"prometheus": True}


def report(cluster: Cluster, remote: Ssh, minutes: float) -> None:
    """Train for `minutes`, then print what Prometheus recorded."""
    remote.run(cluster.control.name, "cat > /shared/healthy.py", stdin=TRAIN.encode())
    there, began, outcomes = RemoteReader(remote, cluster.control.name), time.monotonic(), []
    while time.monotonic() - began < 60 * minutes:
        run = submit(Job.model_validate(JOB, strict=False), cluster, remote)
        outcomes.append(wait(run, there, limit_s=600).outcome)
    window = f"[{int(time.monotonic() - began)}s]"
    failed = query_prometheus(remote, f"sum(count_over_time(up{window}) - sum_over_time(up{window}))")
    print(f"{minutes:g} min, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at the end")
    print(f"trainings: {len(outcomes)}, {outcomes.count('finished')} finished")
    print(f"scrapes that failed: {failed[0]['value'][1] if failed else 'unknown'}")
    told = 'ALERTS{alertname!="Watchdog"}'  # Watchdog always fires by design
    alerts = query_prometheus(
        remote, f"max by (alertname, alertstate, node, run) (max_over_time({told}{window}))"
    )
    for one in sorted(
        alerts, key=lambda found: (found["metric"]["alertstate"], found["metric"]["alertname"])
    ):
        print(" ".join(f"{name}={value}" for name, value in sorted(one["metric"].items())))
    print(f"alerts that fired: {sum(one['metric']['alertstate'] == 'firing' for one in alerts)} (goal: 0)")


def query_prometheus(remote: Ssh, query: str) -> list[dict[str, Any]]:
    """Query the lab's Prometheus and return the rows of the result."""
    command = f"promtool query instant -o json http://127.0.0.1:9090 {json.dumps(query)}"
    done = remote.run("control", command, timeout_s=60)
    if not done.ok:
        raise SystemExit(f"{query}: {done.last_lines()}")
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


if __name__ == "__main__":
    main()
