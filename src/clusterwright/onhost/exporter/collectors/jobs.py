"""Jobs on this host by their control groups, which GPUs each holds, and what it has used so far."""

from __future__ import annotations

import os
import pwd
from typing import Any, Dict, Iterator, List, Optional

from clusterwright.onhost.exporter import cgroups, gpu_places, job_words, traffic
from clusterwright.onhost.exporter.kept import text_of
from clusterwright.onhost.exporter.settings import Settings
from clusterwright.onhost.exporter.tally import Grown, Tally
from clusterwright.onhost.exporter.text import Family, counter, gauge

EVERY_S, TIMEOUT_S, STAYS = 10.0, 20.0, True
_TICK = os.sysconf("SC_CLK_TCK")


class Job:
    """What is remembered of one between two looks."""

    def __init__(self) -> None:
        self.words: Dict[str, str] = {}
        self.uid: Optional[int] = None
        self.cpu, self.read, self.written, self.ooms = Tally(), Tally(), Tally(), Tally()
        self.received, self.sent = Grown(), Grown()


def wanted(settings: Settings) -> bool:
    """Where slurmd is."""
    return settings.slurmd


def collect(settings: Settings, state: Dict[Any, Any]) -> Iterator[Family]:
    """A job that has ended is forgotten: Slurm's own records have it."""
    known: Dict[str, Job] = state.setdefault("jobs", {})
    groups = cgroups.jobs(settings.cgroup)
    for gone in set(known) - {group.job for group in groups}:
        del known[gone]
    places = gpu_places.by_minor(settings.proc)
    received, sent = traffic.bytes_so_far(settings.net, settings.infiniband)
    before, state["before"] = state.get("before", []), [group.job for group in groups]
    families = _families()
    for group in groups:
        job = known.setdefault(group.job, Job())
        pids = cgroups.processes(group)
        _look(job, group, pids, settings.proc)
        _say(group, job, families, _used(job, group, pids, settings.proc))
        _hold(group.job, job, families, settings, places)
        alone = state["before"] == before == [group.job]
        for grown, counters, name in ((job.received, received, "received"), (job.sent, sent, "sent")):
            grown.look(counters, counts=alone)
            families[f"{name}_bytes_total"].add(grown.total if alone else None, job=group.job)
    yield from families.values()


def _families() -> Dict[str, Family]:
    found = {
        name: gauge(f"job_{name}", meaning)
        for name, meaning in (
            ("info", "1 for each job on this host."),
            ("cpus", "Processors that it is held to here."),
            ("memory_bytes", "Memory that it holds here, without old file pages."),
            ("memory_limit_bytes", "Memory at which it is ended here."),
        )
    }
    found["gpu_info"] = gauge("gpu_job_info", "1 for each GPU that a job holds.")
    for name, meaning in (
        ("cpu_seconds_total", "Processor time here."),
        ("oom_kills_total", "Processes ended for want of memory here."),
        ("read_bytes_total", "Bytes that its processes fetched from disks and file servers."),
        ("written_bytes_total", "Bytes that its processes sent to disks and file servers."),
        ("received_bytes_total", "Bytes that came over all networks while it had the host alone."),
        ("sent_bytes_total", "Bytes that went over all networks while it had the host alone."),
    ):
        found[name] = counter(f"job_{name}", meaning)
    return found


def _look(job: Job, group: cgroups.Group, pids: List[int], proc: str) -> None:
    """Who it is; asked again until it is known."""
    if job.uid is None:
        path = next(iter(group.folders.values()))
        told = os.path.basename(os.path.dirname(path)).partition("uid_")[2]
        job.uid = int(told) if told.isdigit() else job_words.owner(pids, proc)
    if "SLURM_JOB_ACCOUNT" not in job.words:
        job.words = job_words.of(group.job, pids, proc) or job.words


def _used(job: Job, group: cgroups.Group, pids: List[int], proc: str) -> Dict[str, Optional[float]]:
    """Processor time and bytes, of the groups where they know, else of all processes ever seen."""
    reads, writes, times = {}, {}, {}
    for pid in pids:
        stat = text_of(os.path.join(proc, str(pid), "stat"), 4096).rpartition(")")[2].split()
        if len(stat) < 20:
            continue
        part = (pid, stat[19])
        times[part] = (int(stat[11]) + int(stat[12])) / _TICK
        rows = dict(
            line.split(": ")
            for line in text_of(os.path.join(proc, str(pid), "io"), 4096).splitlines()
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


def _say(group: cgroups.Group, job: Job, into: Dict[str, Family], used: Dict[str, Optional[float]]) -> None:
    told = job.words.get("SLURM_CPUS_ON_NODE", "")
    cpus = cgroups.cpus(group) or (int(told) if told.isdigit() else None)
    values = {
        **used, "cpus": cpus, "memory_bytes": cgroups.memory_bytes(group),
        "memory_limit_bytes": cgroups.memory_limit_bytes(group),
    }  # fmt: skip
    for name, value in values.items():
        into[name].add(value, job=group.job)
    into["info"].add(
        1,
        job=group.job,
        user=_name(job.uid),
        account=job.words.get("SLURM_JOB_ACCOUNT", ""),
        partition=job.words.get("SLURM_JOB_PARTITION", ""),
        name=job.words.get("SLURM_JOB_NAME", ""),
    )


def _hold(number: str, job: Job, into: Dict[str, Family], settings: Settings, places: Any) -> None:
    """Which GPUs are its own; the prolog's note is there before the job does anything."""
    held = text_of(os.path.join(settings.hooks, "jobs", f"{number}.held"), 4096)
    for minor in job_words.gpus(job.words, held):
        place = places.get(minor)
        into["gpu_info"].add(
            1,
            gpu=place.number if place else minor,
            uuid=place.uuid if place else "",
            job=number,
            user=_name(job.uid),
            account=job.words.get("SLURM_JOB_ACCOUNT", ""),
        )


def _name(uid: Optional[int]) -> str:
    """Of the account; its number where nobody knows a name."""
    if uid is None:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
