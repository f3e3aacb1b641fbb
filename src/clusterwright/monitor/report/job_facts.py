"""What is known of one job, from Slurm's records, Prometheus and its run, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clusterwright.monitor.records.record import Record
from clusterwright.monitor.report.report import ratio

Values = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]
IDLE = 0.05  # of its time: a GPU that did less did nothing


@dataclass(frozen=True, slots=True)
class HostUse:
    """What a job had of one host, and used."""

    name: str
    cpu_s: float | None = None
    cpus: float | None = None
    memory: float | None = None
    memory_limit: float | None = None


@dataclass(frozen=True, slots=True)
class GpuUse:
    """What one of its GPUs did: means over the job, and the most memory."""

    host: str
    index: str
    utilisation: float | None = None
    memory: float | None = None
    memory_total: float | None = None
    watts: float | None = None


@dataclass(frozen=True)
class JobFacts:
    """One job; `earlier` are other jobs of the same run."""

    record: Record
    now: float
    hosts: tuple[HostUse, ...] = ()
    gpus: tuple[GpuUse, ...] = ()
    earlier: tuple[Record, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    source: str = ""

    @property
    def ran_s(self) -> float:
        """How long it has held its hosts."""
        return self.record.ran_s(self.now)

    @property
    def cpu(self) -> float | None:
        """Of the processors' time, the part that was used: as measured on the hosts, else as Slurm has it."""
        known = [each for each in self.hosts if each.cpu_s is not None and each.cpus]
        if known and self.ran_s:
            held_s = sum(each.cpus or 0 for each in known) * self.ran_s
            return ratio(sum(each.cpu_s or 0 for each in known), held_s)
        used_s = self.record.cpu_used_s
        return ratio(used_s, self.record.cpus * self.ran_s) if used_s else None

    @property
    def memory(self) -> tuple[float | None, float | None]:
        """The most that was used of all hosts together, and what was given."""
        known = [each for each in self.hosts if each.memory is not None]
        if known:
            limits = [each.memory_limit for each in known if each.memory_limit]
            return sum(each.memory or 0 for each in known), sum(limits) if limits else self.record.memory
        return self.record.memory_used, self.record.memory

    @property
    def gpu(self) -> float | None:
        """The mean over its GPUs."""
        return _mean(each.utilisation for each in self.gpus)

    @property
    def gpu_memory(self) -> float | None:
        """Of the fullest GPU."""
        return max(
            (r for each in self.gpus if (r := ratio(each.memory, each.memory_total)) is not None),
            default=None,
        )

    @property
    def idle(self) -> tuple[GpuUse, ...]:
        """GPUs that did nothing."""
        return tuple(each for each in self.gpus if each.utilisation is not None and each.utilisation < IDLE)


def facts(
    records: Sequence[Record],
    steps: Sequence[Record],
    values: Values,
    run: Mapping[str, Any] | None,
    *,
    now: float,
    missing: tuple[str, ...] = (),
) -> JobFacts | None:
    """The newest of the records; None where there are none, and no run."""
    held = [each for each in records if each.start is not None] or list(records)
    if not held and not run:
        return None
    newest = held[-1] if held else _of_run(run or {})
    mine = [each for each in steps if each.id.split(".", 1)[0] == newest.id]
    most = max((each.memory_used for each in mine if each.memory_used), default=None)
    if most is not None:
        newest = replace(newest, memory_used=most)
    return JobFacts(newest, now, _hosts(values), _gpus(values), tuple(held[:-1]), run or {}, missing)


def _of_run(run: Mapping[str, Any]) -> Record:
    """A run of which Slurm has no job: one of this machine alone, or one whose records are gone."""
    status = run.get("status") or {}
    ledger, ids = status.get("ledger") or {}, status.get("jobs") or []
    return Record(
        str(ids[-1]) if ids else "-",
        name=str(status.get("run", "")),
        state=str(status.get("state", "")).upper(),
        elapsed_s=ledger.get("held_s"),
        gpus=int(ledger.get("gpus") or 0),
        host_count=len(status.get("hosts") or ()),
    )


def _hosts(values: Values) -> tuple[HostUse, ...]:
    found: dict[str, dict[str, float]] = {}
    names = {"cpu_seconds": "cpu_s", "cpus": "cpus", "memory": "memory", "memory_limit": "memory_limit"}
    for family, name in names.items():
        for labels, value in values.get(family, ()):
            found.setdefault(labels.get("node", "?"), {})[name] = value
    return tuple(HostUse(host, **each) for host, each in sorted(found.items()))


def _gpus(values: Values) -> tuple[GpuUse, ...]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    names = {
        "gpu_utilisation": "utilisation", "gpu_memory": "memory", "gpu_memory_total": "memory_total",
        "gpu_watts": "watts",
    }  # fmt: skip
    for family, name in names.items():
        for labels, value in values.get(family, ()):
            found.setdefault((labels.get("node", "?"), labels.get("gpu", "?")), {})[name] = value
    return tuple(GpuUse(host, index, **each) for (host, index), each in sorted(found.items(), key=_by_number))


def _by_number(row: tuple[tuple[str, str], object]) -> tuple[str, int, str]:
    host, index = row[0]
    return host, int(index) if index.isdigit() else -1, index


def _mean(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None
