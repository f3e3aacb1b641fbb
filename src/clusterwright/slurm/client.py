"""Command lines of Slurm's client programs, as lists of words; only text, since JSON differs by release."""

import shlex
from typing import Iterable, List, Sequence

from clusterwright.slurm.jobs import queue_format
from clusterwright.slurm.states import HOLDING


def line(argv: Iterable[str]) -> str:
    """One shell line of a command; of NAME=VALUE the value is quoted."""
    pairs = (argument.partition("=") for argument in argv)
    return " ".join(
        f"{name}={shlex.quote(value)}" if sign else shlex.quote(name) for name, sign, value in pairs
    )


def show(kind: str, *arguments: str) -> List[str]:
    """Records of a kind, one a line: node, job, partition, reservation, licenses, assoc_mgr."""
    return ["scontrol", "show", kind, "-o", *arguments]


def show_nodes(names: Sequence[str] = ()) -> List[str]:
    """For nodes.parse_nodes: these nodes, else all."""
    return show("node", *([",".join(names)] if names else []))


def node_states(names: Sequence[str] = (), partition: str = "") -> List[str]:
    """For nodes.parse_sinfo: these nodes, those of a partition, else all."""
    chosen = ["--nodes=" + ",".join(names)] if names else []
    chosen += ["--partition=" + partition] if partition else []
    return ["sinfo", "--noheader", "--Node", *chosen, "--format=%N|%T|%E"]


def queue(fields: Sequence[str], states: str = "all") -> List[str]:
    """For jobs.parse_queue: jobs in these states; those that have ended lately are among `all`."""
    return ["squeue", "--noheader", "--all", "--states=" + states, "--format=" + queue_format(fields)]


def queue_of_tasks(fields: Sequence[str]) -> List[str]:
    """For jobs.parse_queue: jobs that have not ended, each task of an array by itself."""
    return ["squeue", "--noheader", "--all", "--array", "--format=" + queue_format(fields)]


def expected_start(job: str) -> List[str]:
    """Id, start and planned nodes of a job that waits; it makes the backfill scheduler work."""
    return ["squeue", "--noheader", "--start", "-j", job, "--format=%i|%S|%Y"]


def jobs_on(names: Sequence[str]) -> List[str]:
    """Numbers of the jobs that hold these nodes, one a line."""
    return [
        "squeue",
        "--noheader",
        "--all",
        "-w",
        ",".join(names),
        "--states=" + ",".join(HOLDING),
        "--format=%A",
    ]


def show_job(job: str) -> List[str]:
    """One record."""
    return show("job", job)


def show_reservations() -> List[str]:
    """A record for each."""
    return show("reservation")


def version() -> List[str]:
    """The release of the client programs, which are of the same packages as the daemons."""
    return ["scontrol", "--version"]


def ping() -> List[str]:
    """Whether each slurmctld answers; it waits MessageTimeout, 10 s by default."""
    return ["scontrol", "ping"]


def clusters() -> List[str]:
    """Names of the clusters that slurmdbd knows."""
    return ["sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=cluster"]


def associations(which: str, fields: str) -> List[str]:
    """Associations of slurmdbd, those of `cluster=NAME` or `user=NAME`, their fields with a bar between them."""
    return ["sacctmgr", "-nP", "show", "assoc", which, "format=" + fields]


def accounting(jobs: str, fields: str, *flags: str) -> List[str]:
    """What slurmdbd has of jobs and their steps, fields with a bar between them."""
    return ["sacct", "-P", *flags, "-j", jobs, "-o", fields]


def show_config() -> List[str]:
    """Slurm's settings as slurmctld has them, a NAME = VALUE a line."""
    return ["scontrol", "show", "config"]


def cancel(jobs: Sequence[str]) -> List[str]:
    """Ends jobs."""
    return ["scancel", *jobs]


def set_state(nodes: str, state: str, reason: str = "") -> List[str]:
    """Changes the state of nodes, given as a hostlist: DRAIN, RESUME, POWER_UP ..."""
    return [
        "scontrol",
        "update",
        "NodeName=" + nodes,
        "State=" + state,
        *(["Reason=" + reason] if reason else []),
    ]


def drain(nodes: str, reason: str) -> List[str]:
    """No new job starts on these nodes; those that run go on."""
    return set_state(nodes, "DRAIN", reason)


def resume(nodes: str) -> List[str]:
    """These nodes take jobs again."""
    return set_state(nodes, "RESUME")


def set_job(job: str, **fields: str) -> List[str]:
    """Changes fields of a job: `set_job("12", ExcNodeList="n3")`."""
    return ["scontrol", "update", "JobId=" + job, *(f"{name}={value}" for name, value in fields.items())]


def requeue(job: str) -> List[str]:
    """Puts a job that runs back into the queue."""
    return ["scontrol", "requeue", job]


def set_comment(node: str, comment: str) -> List[str]:
    """Notes something at a node."""
    return ["scontrol", "update", "NodeName=" + node, "Comment=" + comment]
