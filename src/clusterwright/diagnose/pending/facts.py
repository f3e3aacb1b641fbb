"""Slurm's output about one pending job, parsed; missing or malformed parts are empty."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from clusterwright.config.names import expand_valid
from clusterwright.i18n import _
from clusterwright.slurm.job_records import parse_jobs
from clusterwright.slurm.jobs import Job, parse_queue
from clusterwright.slurm.nodes import parse_nodes
from clusterwright.slurm.records import Record, clock, parse_records, split_lines, stamp
from clusterwright.slurm.states import is_pending, job_state, parse_node_state

FIELDS = (
    "id", "user", "account", "qos", "partition", "state", "reason", "priority", "nodes", "cpus", "start", "end",
    "hosts", "reservation", "gres",  # last: they may contain separators
)  # fmt: skip
_QOS_COLUMN = 3  # column of `allowed` with the list of QOS
_LIMITS = re.compile(r"(\w+)=\{(.*?)\}")


@dataclass(frozen=True)
class Facts:
    """A pending job and the limits around it; `texts` holds the output of each query by name."""

    texts: dict[str, str]

    @cached_property
    def job(self) -> Record:
        """The record of `scontrol show job`; of an array, the pending task."""
        records = parse_jobs(self.texts.get("job", ""))
        waits = [record for record in records if is_pending(job_state(record["JobState"]))]
        return (waits or records or [Record({})])[0]

    @cached_property
    def id(self) -> str:
        """The job's id."""
        return self.job["JobId"]

    @cached_property
    def user(self) -> str:
        """The job's user."""
        return self.job["UserId"].partition("(")[0]

    @cached_property
    def partition(self) -> Record:
        """The record of the first partition that the job requests."""
        named = self.job["Partition"].split(",")[0]
        return self.partitions.get(named, Record({}))

    @cached_property
    def partitions(self) -> dict[str, Record]:
        """Records of all partitions of the cluster by partition name, as `scontrol show partition` printed them."""
        return named(parse_records(self.texts.get("partitions", ""), "PartitionName"), "PartitionName")

    @cached_property
    def all_nodes(self) -> dict[str, Record]:
        """Records of all nodes of the cluster by node name, as `scontrol show node` printed them."""
        return {name: node.record for name, node in parse_nodes(self.texts.get("nodes", "")).items()}

    @cached_property
    def nodes(self) -> dict[str, Record]:
        """Records of the nodes of the job's partition that the job does not exclude, by name."""
        node_names = set(hosts(self.partition["Nodes"])) or set(self.all_nodes)
        node_names -= set(hosts(self.job["ExcNodeList"]))
        return {name: node for name, node in self.all_nodes.items() if name in node_names}

    @cached_property
    def requested_nodes(self) -> tuple[str, ...]:
        """Names of the nodes in the job's `--nodelist`."""
        return hosts(self.job["ReqNodeList"])

    @cached_property
    def reservations(self) -> dict[str, Record]:
        """Records of all reservations by name; empty if Slurm has none."""
        return named(parse_records(self.texts.get("reservations", ""), "ReservationName"), "ReservationName")

    @cached_property
    def licenses(self) -> dict[str, Record]:
        """Records of all licenses of Slurm by name, with total and free counts; empty if there are none."""
        return named(parse_records(self.texts.get("licenses", ""), "LicenseName"), "LicenseName")

    @cached_property
    def qos(self) -> dict[str, Record]:
        """Records of limits and use of each QOS by its name, from `scontrol show assoc_mgr`."""
        records = {
            re.sub(r"\(\d+\)", "", record["QOS"]): record
            for record in parse_records(self.texts.get("limits", ""), "QOS")
        }
        return {name: record for name, record in records.items() if name}

    @cached_property
    def associations(self) -> list[Record]:
        """Records of the associations that limit the job: its user's in the account, the account and its parents."""
        every = parse_records(self.texts.get("limits", ""), "ClusterName")
        account_records = [record for record in every if record["Account"] == self.job["Account"]]
        nearest = [record for record in account_records if record["UserName"].partition("(")[0] == self.user]
        chain, account = nearest, self.job["Account"]
        for _parent in every:
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
        """Account, user, partition and QOS list of each of the user's associations."""
        rows = [line.split("|") for line in split_lines(self.texts.get("allowed", ""))]
        return [row for row in rows if len(row) > _QOS_COLUMN]

    @cached_property
    def allowed_qos(self) -> tuple[str, ...]:
        """Names of the QOS that the user may request in the job's account; empty if accounting has none."""
        rows = [row for row in self._allowed if row[0] == self.job["Account"] and row[1] == self.user]
        return tuple(qos_name for row in rows for qos_name in row[_QOS_COLUMN].split(",") if qos_name)

    @cached_property
    def accounts(self) -> tuple[str, ...]:
        """Names of the accounts to which the job's user may charge jobs; empty if accounting has none."""
        return tuple(dict.fromkeys(row[0] for row in self._allowed if row[1] == self.user))

    @cached_property
    def queue(self) -> tuple[Job, ...]:
        """All jobs that are pending or running, except this job; pending ones have no `hosts`."""
        jobs = parse_queue(self.texts.get("queue", ""), FIELDS)
        other_jobs = (job for job in jobs if not job.is_finished and job.id != self.id)
        return tuple(job._replace(hosts="") if job.is_pending else job for job in other_jobs)

    @property
    def running(self) -> tuple[Job, ...]:
        """Other jobs that have allocated nodes now."""
        return tuple(job for job in self.queue if job.hosts)

    @cached_property
    def now(self) -> str:
        """The control host's local time when the facts were queried, as text; empty if it was not queried."""
        return self.texts.get("now", "").strip()

    @cached_property
    def start(self) -> str:
        """The time as text at which Slurm expects to start the job; empty where Slurm has no estimate."""
        for line in split_lines(self.texts.get("start", "")):
            when = line.partition("|")[2].partition("|")[0]
            if stamp(when) is not None:
                return when
        return self.job["StartTime"] if stamp(self.job["StartTime"]) is not None else ""

    def per_user(self, qos: str) -> Record:
        """Return the record of limits and use of the job's user in this QOS; without fields if there is none."""
        uid = self.job["UserId"].partition("(")[2].rstrip(")")
        return self._shared(qos, "User Limits=", uid)

    def per_account(self, qos: str) -> Record:
        """Return limits and use of the job's account in a QOS."""
        return self._shared(qos, "Account Limits=", self.job["Account"])

    def _shared(self, qos: str, marker: str, name: str) -> Record:
        line = self.qos.get(qos, Record({})).line.partition(marker)[2].partition(" Limits=")[0]
        return next((Record.parse(inner) for key, inner in _LIMITS.findall(line) if key == name), Record({}))


def summary(job: Job) -> str:
    """Return a job as text: `job 12 of bob on gpu-node[1-2] until 2026-11-23 00:06`.

    Without hosts or end if they are unknown.
    """
    time = clock(job.end) if stamp(job.end) is not None else ""
    if job.hosts and time:
        return _(
            "job {job} of {user} on {hosts} until {time}",
            job=job.id,
            user=job.user,
            hosts=job.hosts,
            time=time,
        )
    if job.hosts:
        return _("job {job} of {user} on {hosts}", job=job.id, user=job.user, hosts=job.hosts)
    if time:
        return _("job {job} of {user} until {time}", job=job.id, user=job.user, time=time)
    return _("job {job} of {user}", job=job.id, user=job.user)


def named(records: Iterable[Record], by: str) -> dict[str, Record]:
    """Return the records by the value of a field; of equal values the last record."""
    return {record[by]: record for record in records}


def hosts(hostlist: str) -> tuple[str, ...]:
    """Return the names in a hostlist; none if it cannot be parsed."""
    return expand_valid(hostlist)


def usable(node: Record) -> bool:
    """Return True if jobs can start on the node: it is available and not powered off."""
    state = parse_node_state(node["State"])
    return state.is_available and not state.is_off
