"""Records and jobs, of which only what matters is said."""

import pytest

from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.report.job_facts import facts

HOUR = 3600


@pytest.fixture
def record():
    """`record("7", gpus=4, hours=2)`: a job that began at 0 and has ended."""

    def make(name="7", *, start=0.0, hours=1.0, waited=60.0, **more):
        known = {
            "name": "train", "user": "alice", "account": "vision", "partition": "train", "state": "COMPLETED",
            "submit": start - waited, "eligible": start - waited, "start": start, "end": start + hours * HOUR,
            "elapsed_s": hours * HOUR, "limit_s": 1.2 * hours * HOUR, "hosts": "gpu-node1", "host_count": 1, "cpus": 8,
            "gpus": 4, "memory": 64 << 30,
        }  # fmt: skip
        return AccountingRecord(name, **{**known, **more})

    return make


@pytest.fixture
def job(record):
    """`job(values={...}, run={...}, state="TIMEOUT")`: the facts of one job."""

    def make(*, values=None, run=None, steps=(), missing=(), **more):
        return facts([record(**more)], steps, values or {}, run, now=10 * HOUR, missing=missing)

    return make


@pytest.fixture
def gpus():
    """`gpus(utilisation=[0.9, 0.1], memory=0.5)`: as Prometheus answers."""

    def make(utilisation, memory=0.9, watts=300.0):
        labels = [{"node": "gpu-node1", "gpu": str(index)} for index in range(len(utilisation))]
        return {
            "gpu_utilisation": list(zip(labels, utilisation, strict=True)),
            "gpu_memory": [(each, memory * (80 << 30)) for each in labels],
            "gpu_memory_total": [(each, float(80 << 30)) for each in labels],
            "gpu_watts": [(each, watts) for each in labels],
        }

    return make
