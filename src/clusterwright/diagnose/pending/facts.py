"""What is asked of Slurm once for a job that waits, read tolerantly."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ClusterShell.NodeSet import NodeSetException

from clusterwright.config.names import expand
from clusterwright.slurm.jobs import Job, parse_queue
from clusterwright.slurm.nodes import parse_nodes
from clusterwright.slurm.records import Record, clock, parse_records, stamp
from clusterwright.slurm.states import is_pending, job_state, parse_node_state

FIELDS = (
    "id", "user", "account", "qos", "partition", "state", "reason", "priority", "nodes", "cpus", "start", "end",
    "hosts", "reservation", "gres",  # last: they may hold anything
)  # fmt: skip
_QOS_COLUMN = 3  # of `allowed`
_LIMITS = re.compile(r"(\w+)=\{(.*?)\}")


@dataclass(frozen=True)
class Facts:
    """A job, and what it may run into; texts by the name of what was asked."""

    texts: dict[str, str]

    @cached_property
    def job(self) -> Record:
        """`scontrol show job`; of an array, the task that waits."""
        records = parse_records(self.texts.get("job", ""), "JobId")
        waits = [record for record in records if is_pending(job_state(record["JobState"]))]
        return (waits or records or [Record({})])[0]

    @cached_property
    def id(self) -> str:
        """The job's id, as commands take it."""
        return self.job["JobId"]

    @cached_property
    def user(self) -> str:
        """Whose it is."""
        return self.job["UserId"].partition("(")[0]

    @cached_property
    def partition(self) -> Record:
        """The first of those that it asks for."""
        named = self.job["Partition"].split(",")[0]
        return self.partitions.get(named, Record({}))

    @cached_property
    def partitions(self) -> dict[str, Record]:
        """By name."""
        return named(parse_records(self.texts.get("partitions", ""), "PartitionName"), "PartitionName")

    @cached_property
    def all_nodes(self) -> dict[str, Record]:
        """By name."""
        return {name: node.record for name, node in parse_nodes(self.texts.get("nodes", "")).items()}

    @cached_property
    def nodes(self) -> dict[str, Record]:
        """Nodes that the job may run on: of its partition, of its list if it has one, without those it excludes."""
        node_names = set(hosts(self.partition["Nodes"])) or set(self.all_nodes)
        node_names -= set(hosts(self.job["ExcNodeList"]))
        return {name: node for name, node in self.all_nodes.items() if name in node_names}

    @cached_property
    def requested_nodes(self) -> tuple[str, ...]:
        """Nodes that it names."""
        return hosts(self.job["ReqNodeList"])

    @cached_property
    def reservations(self) -> dict[str, Record]:
        """By name."""
        return named(parse_records(self.texts.get("reservations", ""), "ReservationName"), "ReservationName")

    @cached_property
    def licenses(self) -> dict[str, Record]:
        """By name."""
        return named(parse_records(self.texts.get("licenses", ""), "LicenseName"), "LicenseName")

    @cached_property
    def qos(self) -> dict[str, Record]:
        """Limits and use of qualities of service, by name."""
        records = {
            re.sub(r"\(\d+\)", "", record["QOS"]): record
            for record in parse_records(self.texts.get("limits", ""), "QOS")
        }
        return {name: record for name, record in records.items() if name}

    @cached_property
    def associations(self) -> list[Record]:
        """The job's association and those above it, the nearest first."""
        every = parse_records(self.texts.get("limits", ""), "ClusterName")
        account_records = [record for record in every if record["Account"] == self.job["Account"]]
        nearest = [record for record in account_records if record["UserName"].partition("(")[0] == self.user]
        chain, account = nearest, self.job["Account"]
        for _ in every:
            above = next(
                (record for record in every if record["Account"] == account and not record["UserName"]), None
            )
            if above is None:
                break
            chain = [*chain, above]
            account = above["ParentAccount"].partition("(")[0]
        return chain

    @cached_property
    def _allowed(self) -> list[list[str]]:
        """Account, user, partition and qualities of service of each of the user's associations."""
        rows = [line.split("|") for line in self.texts.get("allowed", "").splitlines()]
        return [row for row in rows if len(row) > _QOS_COLUMN]

    @cached_property
    def allowed_qos(self) -> tuple[str, ...]:
        """Qualities of service that the user may name in the job's account."""
        rows = [row for row in self._allowed if row[0] == self.job["Account"] and row[1] == self.user]
        return tuple(qos_name for row in rows for qos_name in row[_QOS_COLUMN].split(",") if qos_name)

    @cached_property
    def accounts(self) -> tuple[str, ...]:
        """Accounts that the user may name."""
        return tuple(dict.fromkeys(row[0] for row in self._allowed if row[1] == self.user))

    @cached_property
    def queue(self) -> tuple[Job, ...]:
        """All other jobs that have not ended."""
        jobs = parse_queue(self.texts.get("queue", ""), FIELDS)
        other_jobs = (job for job in jobs if not job.is_finished and job.id != self.id)
        return tuple(job._replace(hosts="") if job.is_pending else job for job in other_jobs)

    @property
    def running(self) -> tuple[Job, ...]:
        """Those that hold something."""
        return tuple(job for job in self.queue if job.hosts)

    @cached_property
    def now(self) -> str:
        """The control host's time."""
        return self.texts.get("now", "").strip()

    @cached_property
    def start(self) -> str:
        """When Slurm expects it to start; empty where it does not say."""
        for line in self.texts.get("start", "").splitlines():
            when = line.partition("|")[2].partition("|")[0]
            if stamp(when) is not None:
                return when
        return self.job["StartTime"] if stamp(self.job["StartTime"]) is not None else ""

    def per_user(self, qos: str) -> Record:
        """Limits and use of the job's user in a quality of service."""
        uid = self.job["UserId"].partition("(")[2].rstrip(")")
        return self._shared(qos, "User Limits=", uid)

    def per_account(self, qos: str) -> Record:
        """Limits and use of the job's account in a quality of service."""
        return self._shared(qos, "Account Limits=", self.job["Account"])

    def _shared(self, qos: str, marker: str, name: str) -> Record:
        line = self.qos.get(qos, Record({})).line.partition(marker)[2].partition(" Limits=")[0]
        return next((Record.parse(inner) for key, inner in _LIMITS.findall(line) if key == name), Record({}))


def summary(job: Job) -> str:
    """`job 12 of bob on gpu-node[1-2] until 2026-11-23 00:06`."""
    hosts_text = f" on {job.hosts}" if job.hosts else ""
    end_text = f" until {clock(job.end)}" if stamp(job.end) is not None else ""
    return f"job {job.id} of {job.user}{hosts_text}{end_text}"


def named(records: Iterable[Record], by: str) -> dict[str, Record]:
    """Records by a field."""
    return {record[by]: record for record in records}


def hosts(hostlist: str) -> tuple[str, ...]:
    """Names of a hostlist; none of one that cannot be read."""
    try:
        return tuple(expand(hostlist)) if hostlist else ()
    except NodeSetException:
        return ()


def usable(node: Record) -> bool:
    """Whether jobs may begin there."""
    state = parse_node_state(node["State"])
    return state.is_available and not state.is_off
