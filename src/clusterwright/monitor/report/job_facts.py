"""Facts about one job, from Slurm's records, Prometheus and its run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.report.report import ratio
from clusterwright.onhost.lib.numbers import ascii_int, finite

Values = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]
IDLE = 0.05  # GPU utilization below which a GPU counts as idle


@dataclass(frozen=True, slots=True)
class HostUse:
    """A job's allocation on one host, and its use of it."""

    name: str
    cpu_s: float | None = None
    cpus: float | None = None
    memory: float | None = None
    memory_limit: float | None = None


@dataclass(frozen=True, slots=True)
class GpuUse:
    """Mean utilization, maximum memory and mean power of one GPU over the job."""

    host: str
    index: str
    utilisation: float | None = None
    memory: float | None = None
    memory_total: float | None = None
    watts: float | None = None


@dataclass(frozen=True)
class JobFacts:
    """Facts about one job; `earlier` are other jobs of the same run."""

    record: AccountingRecord
    now: float
    hosts: tuple[HostUse, ...] = ()
    gpus: tuple[GpuUse, ...] = ()
    earlier: tuple[AccountingRecord, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    source: str = ""

    @property
    def ran_s(self) -> float:
        """Seconds for which the job has had its allocation."""
        return self.record.ran_s(self.now)

    @property
    def state(self) -> str:
        """The state of the run, as every command shows it; for a job without a run, its state in Slurm's accounting."""
        return str((self.run.get("status") or {}).get("state") or self.record.state)

    @property
    def run_s(self) -> float:
        """Seconds with hosts for all jobs of the run, the larger of its own figure and Slurm's.

        Without a run, `ran_s`.
        """
        held_s = finite(((self.run.get("status") or {}).get("ledger") or {}).get("held_s")) or 0.0
        return max(held_s, sum(record.ran_s(self.now) for record in (*self.earlier, self.record)))

    @property
    def cpu(self) -> float | None:
        """CPU time used over that allocated, 0 to 1: measured on the hosts, else from Slurm's accounting.

        None if neither has it.
        """
        reporting = [host for host in self.hosts if host.cpu_s is not None and host.cpus]
        if reporting and self.ran_s:
            allocated_s = sum(host.cpus or 0 for host in reporting) * self.ran_s
            return ratio(sum(host.cpu_s or 0 for host in reporting), allocated_s)
        used_s = self.record.cpu_used_s
        return ratio(used_s, self.record.cpus * self.ran_s) if used_s else None

    @property
    def memory(self) -> tuple[float | None, float | None]:
        """(memory used, memory allocated) in bytes: sums over the hosts that report it, else from Slurm's accounting.

        Both can be None.
        """
        reporting = [host for host in self.hosts if host.memory is not None]
        if reporting:
            limits = [host.memory_limit for host in reporting if host.memory_limit]
            return sum(host.memory or 0 for host in reporting), sum(limits) if limits else self.record.memory
        return self.record.memory_used, self.record.memory

    @property
    def gpu(self) -> float | None:
        """Mean utilization, 0 to 1, of the job's GPUs that have a measurement; None without any."""
        return _average(gpu.utilisation for gpu in self.gpus)

    @property
    def gpu_memory(self) -> float | None:
        """Memory utilization, 0 to 1, of the GPU with the fullest memory; None without a measurement."""
        return max(
            (r for gpu in self.gpus if (r := ratio(gpu.memory, gpu.memory_total)) is not None), default=None
        )

    @property
    def idle(self) -> tuple[GpuUse, ...]:
        """The job's GPUs with a utilization below IDLE; those without a measurement are not among them."""
        return tuple(gpu for gpu in self.gpus if gpu.utilisation is not None and gpu.utilisation < IDLE)


def facts(
    records: Sequence[AccountingRecord],
    steps: Sequence[AccountingRecord],
    values: Values,
    run: Mapping[str, Any] | None,
    *,
    now: float,
    missing: tuple[str, ...] = (),
) -> JobFacts | None:
    """Return what a report tells of a job: of the last record that started, else of the last one.

    The records before it count as earlier jobs of the run. Without records, the run makes up for one; None without
    both.
    The step with the most memory sets the memory used. `now` is epoch seconds.
    """
    job_records = [record for record in records if record.start is not None] or list(records)
    if not job_records and not run:
        return None
    newest = job_records[-1] if job_records else _of_run(run or {})
    job_steps = [step for step in steps if step.id.split(".", 1)[0] == newest.id]
    most = max((step.memory_used for step in job_steps if step.memory_used), default=None)
    if most is not None:
        newest = replace(newest, memory_used=most)
    return JobFacts(newest, now, _hosts(values), _gpus(values), tuple(job_records[:-1]), run or {}, missing)


def _of_run(run: Mapping[str, Any]) -> AccountingRecord:
    """Return a record for a run without a Slurm job: a local run, or one whose records were deleted."""
    status = run.get("status") or {}
    accounting, ids = status.get("ledger") or {}, status.get("jobs") or []
    return AccountingRecord(
        str(ids[-1]) if ids else "-",
        name=str(status.get("run", "")),
        state=str(status.get("state", "")).upper(),
        elapsed_s=accounting.get("held_s"),
        gpus=int(accounting.get("gpus") or 0),
        host_count=len(status.get("hosts") or ()),
    )


def _hosts(values: Values) -> tuple[HostUse, ...]:
    usage_by_host: dict[str, dict[str, float]] = {}
    names = {"cpu_seconds": "cpu_s", "cpus": "cpus", "memory": "memory", "memory_limit": "memory_limit"}
    for family, name in names.items():
        for labels, value in values.get(family, ()):
            usage_by_host.setdefault(labels.get("node", "?"), {})[name] = value
    return tuple(HostUse(host, **usage) for host, usage in sorted(usage_by_host.items()))


def _gpus(values: Values) -> tuple[GpuUse, ...]:
    usage_by_gpu: dict[tuple[str, str], dict[str, float]] = {}
    names = {
        "gpu_utilisation": "utilisation", "gpu_memory": "memory", "gpu_memory_total": "memory_total",
        "gpu_watts": "watts",
    }  # fmt: skip
    for family, name in names.items():
        for labels, value in values.get(family, ()):
            usage_by_gpu.setdefault((labels.get("node", "?"), labels.get("gpu", "?")), {})[name] = value
    return tuple(
        GpuUse(host, index, **usage) for (host, index), usage in sorted(usage_by_gpu.items(), key=_by_number)
    )


def _by_number(row: tuple[tuple[str, str], object]) -> tuple[str, int, str]:
    host, index = row[0]
    number = ascii_int(index)
    return host, -1 if number is None else number, index


def _average(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None
