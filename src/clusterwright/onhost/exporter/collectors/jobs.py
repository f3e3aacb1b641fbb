"""Metrics of jobs on this host from their cgroups: the GPUs of each, and its resource use so far."""

from __future__ import annotations

import os
import pwd
from typing import Any, Dict, Iterator, List, Optional

from clusterwright.onhost.exporter import cgroups, gpu_places, traffic
from clusterwright.onhost.exporter.job_records import JobRecords
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.state_files import text_of
from clusterwright.onhost.exporter.tally import GrownTally, Tally
from clusterwright.onhost.exporter.text import Family, counter, gauge
from clusterwright.onhost.lib.numbers import ascii_int
from clusterwright.slurm.jobs import Job

EVERY_S, TIMEOUT_S, STAYS = 10.0, 20.0, True
_TICK = os.sysconf("SC_CLK_TCK")


class JobSample:
    """The state of one job that is kept between collections."""

    def __init__(self) -> None:
        self.uid: Optional[int] = None
        self.cpu, self.read, self.written, self.ooms = Tally(), Tally(), Tally(), Tally()
        self.received, self.sent = GrownTally(), GrownTally()


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True if slurmd runs on this host by the settings."""
    return settings.slurmd


def collect(settings: ExporterSettings, state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield the metrics of the jobs that run on this host: CPU, memory, I/O, GPUs, network.

    Network bytes only of a job that had the host alone; jobs that have ended are dropped.
    """
    jobs_by_id: Dict[str, JobSample] = state.setdefault("jobs", {})
    groups = cgroups.jobs(settings.cgroup)
    records: JobRecords = state.setdefault("records", JobRecords())
    records.update([group.job for group in groups])
    for job_id in set(jobs_by_id) - {group.job for group in groups}:
        del jobs_by_id[job_id]
    places = gpu_places.by_minor(settings.proc)
    received, transmitted = traffic.byte_totals(settings.net, settings.infiniband)
    previous, state["before"] = state.get("before", []), [group.job for group in groups]
    families = _families()
    for group in groups:
        job = jobs_by_id.setdefault(group.job, JobSample())
        pids = cgroups.processes(group)
        if job.uid is None:
            job.uid = cgroups.owner(group, pids, settings.proc)
        record = records.find(group.job)._replace(number=group.job, user=_name(job.uid))
        _add_values(group, record, families, _used(job, group, pids, settings.proc))
        _add_gpus(record, families, settings, places)
        is_exclusive = state["before"] == previous == [group.job]
        for grown, counters, name in ((job.received, received, "received"), (job.sent, transmitted, "sent")):
            grown.update(counters, counts=is_exclusive)
            families[f"{name}_bytes_total"].add(grown.total if is_exclusive else None, job=group.job)
    yield from families.values()


def _families() -> Dict[str, Family]:
    families = {
        name: gauge(f"job_{name}", meaning)
        for name, meaning in (
            ("info", "1 for each job on this host."),
            ("cpus", "CPUs allowed to the job on this host."),
            ("memory_bytes", "Memory of the job on this host, without file pages."),
            ("memory_limit_bytes", "Memory limit of the job on this host."),
        )
    }
    families["gpu_info"] = gauge("gpu_job_info", "1 for each GPU allocated to a job.")
    for name, meaning in (
        ("cpu_seconds_total", "CPU time on this host."),
        ("oom_kills_total", "OOM kills on this host."),
        ("read_bytes_total", "Bytes that its processes read from disks and file servers."),
        ("written_bytes_total", "Bytes that its processes wrote to disks and file servers."),
        ("received_bytes_total", "Bytes received on all networks while the job had the host alone."),
        ("sent_bytes_total", "Bytes sent on all networks while the job had the host alone."),
    ):
        families[name] = counter(f"job_{name}", meaning)
    return families


def _used(
    job: JobSample, group: cgroups.ControlGroup, pids: List[int], proc: str
) -> Dict[str, Optional[float]]:
    """Return a job's CPU seconds, bytes read and written, and OOM kills so far, by metric name.

    CPU time is from the cgroup if it counts it, else from all processes seen so far, as I/O bytes are.
    """
    reads, writes, times = {}, {}, {}
    for pid in pids:
        stat = text_of(os.path.join(proc, str(pid), "stat"), 4096).rpartition(")")[2].split()
        if len(stat) < 20:
            continue
        part = (pid, stat[19])
        times[part] = (int(stat[11]) + int(stat[12])) / _TICK
        rows = dict(
            line.split(": ")
            for line in text_of(os.path.join(proc, str(pid), "io"), 4096).split("\n")
            if ": " in line
        )
        reads[part], writes[part] = float(rows.get("read_bytes", 0)), float(rows.get("write_bytes", 0))
    of_group = cgroups.cpu_seconds(group)
    spent = job.cpu.total(times if of_group is None else {"group": of_group})
    return {
        "cpu_seconds_total": spent,
        "read_bytes_total": job.read.total(reads),
        "written_bytes_total": job.written.total(writes),
        "oom_kills_total": job.ooms.total(
            {name: float(value) for name, value in cgroups.oom_kills(group).items()}
        ),
    }


def _add_values(
    group: cgroups.ControlGroup, record: Job, into: Dict[str, Family], used: Dict[str, Optional[float]]
) -> None:
    values = {
        **used, "cpus": cgroups.cpus(group), "memory_bytes": cgroups.memory_bytes(group),
        "memory_limit_bytes": cgroups.memory_limit_bytes(group),
    }  # fmt: skip
    for name, value in values.items():
        into[name].add(value, job=group.job)
    into["info"].add(
        1,
        job=record.number,
        user=record.user,
        account=record.account,
        partition=record.partition,
        name=record.name,
    )


def _add_gpus(record: Job, into: Dict[str, Family], settings: ExporterSettings, places: Any) -> None:
    """Add a `gpu_info` sample for each GPU of the job to `into`.

    The GPUs are from the file that the prolog writes before the job starts; none without it.
    """
    text = text_of(os.path.join(settings.hooks, "jobs", f"{record.number}.held"), 4096)
    minors = (ascii_int(part) for part in text.strip().split(","))
    for minor in (number for number in minors if number is not None):
        device = places.get(minor)
        into["gpu_info"].add(
            1,
            gpu=device.number if device else minor,
            uuid=device.uuid if device else "",
            job=record.number,
            user=record.user,
            account=record.account,
        )


def _name(uid: Optional[int]) -> str:
    """Return the name of the user with this uid, the number itself if it has no name; "" for None."""
    if uid is None:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
