"""Command lines of Slurm's client programs, as argument lists; text output, because JSON differs between releases."""

import shlex
from typing import Iterable, List, Sequence

from clusterwright.slurm.jobs import queue_format
from clusterwright.slurm.states import HOLDING


def line(argv: Iterable[str]) -> str:
    """Return an argument list as one quoted shell line; of NAME=VALUE only the value is quoted."""
    pairs = (argument.partition("=") for argument in argv)
    return " ".join(
        f"{name}={shlex.quote(value)}" if sign else shlex.quote(name) for name, sign, value in pairs
    )


def show(kind: str, *arguments: str) -> List[str]:
    """Return the `scontrol show` command, one record per line; `kind`: node, job, partition, reservation and others."""
    return ["scontrol", "show", kind, "-o", *arguments]


def show_nodes(names: Sequence[str] = ()) -> List[str]:
    """Return the scontrol command whose output `nodes.parse_nodes` reads: these nodes, else all."""
    return show("node", *([",".join(names)] if names else []))


def node_states(names: Sequence[str] = (), partition: str = "") -> List[str]:
    """Return the sinfo command whose output `nodes.parse_sinfo` reads: these nodes, those of a partition, else all."""
    chosen = ["--nodes=" + ",".join(names)] if names else []
    chosen += ["--partition=" + partition] if partition else []
    return ["sinfo", "--noheader", "--Node", *chosen, "--format=%N|%T|%E"]


def queue(fields: Sequence[str], mark: str = "", numbers: Iterable[str] = ()) -> List[str]:
    """Return the command for `jobs.parse_queue`: all jobs or those with these ids, also recently ended ones.

    `mark` is a random text that begins each row, needed if `fields` has names, which may contain line feeds.
    """
    chosen = ["--jobs=" + ",".join(numbers)] if numbers else []
    return [
        "squeue",
        "--noheader",
        "--all",
        "--states=all",
        *chosen,
        "--format=" + queue_format(fields, mark),
    ]


def queue_of_tasks(fields: Sequence[str]) -> List[str]:
    """Return the squeue command whose output `jobs.parse_queue` reads: jobs not ended, one row per array task."""
    return ["squeue", "--noheader", "--all", "--array", "--format=" + queue_format(fields)]


def expected_start(job: str) -> List[str]:
    """Return the command for a pending job's id, expected start and planned nodes; needs the backfill scheduler."""
    return ["squeue", "--noheader", "--start", "-j", job, "--format=%i|%S|%Y"]


def jobs_on(names: Sequence[str]) -> List[str]:
    """Return the command for the ids of jobs allocated on these nodes, completing ones included, one per line."""
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
    """Return the command for the record of one job, on one line."""
    return show("job", job)


def show_reservations() -> List[str]:
    """Return the command for the records of all reservations, one per line."""
    return show("reservation")


def version() -> List[str]:
    """Return the command for Slurm's version: that of scontrol, which has the version of the daemons."""
    return ["scontrol", "--version"]


def ping() -> List[str]:
    """Return the command that pings each slurmctld in turn; it waits MessageTimeout (10 s) for each silent one."""
    return ["scontrol", "ping"]


def clusters() -> List[str]:
    """Return the command that lists the names of the clusters in slurmdbd."""
    return ["sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=cluster"]


def associations(which: str, fields: str) -> List[str]:
    """Return the command that lists slurmdbd's associations; `which` is `cluster=NAME` or `user=NAME`.

    `fields` are sacctmgr's, separated by commas; the output separates them by `|`.
    """
    return ["sacctmgr", "-nP", "show", "assoc", which, "format=" + fields]


def all_qos() -> List[str]:
    """Return the command for all QOS of slurmdbd as a table with headings."""
    return ["sacctmgr", "-P", "show", "qos"]


def all_users() -> List[str]:
    """Return the command for all users of slurmdbd, with default account and admin level."""
    return ["sacctmgr", "-P", "show", "user"]


def all_associations() -> List[str]:
    """Return the command for all associations of slurmdbd, with the parent that its usual table lacks."""
    fields = (
        "Cluster,Account,User,Partition,ParentName,Fairshare,Priority,GrpJobs,GrpTRES,GrpSubmitJobs,GrpWall,GrpTRESMins,"
        "GrpTRESRunMins,MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmitJobs,MaxWall,MaxTRESMins,QOS,DefaultQOS"
    )
    return ["sacctmgr", "-P", "show", "assoc", "format=" + fields]


def accounting(jobs: str, fields: str, *flags: str) -> List[str]:
    """Return the sacct command for jobs (ids, separated by commas) and their steps; it separates fields by `|`."""
    return ["sacct", "-P", *flags, "-j", jobs, "-o", fields]


def step_memory(job: str) -> List[str]:
    """Return the command for the memory of a job's running steps."""
    return ["sstat", "--parsable", "--allsteps", "-j", job, "--format=JobID,MaxRSS,MaxVMSize"]


def show_partitions() -> List[str]:
    """Return the command whose output `settings.parse_partitions` reads, also those hidden from the user."""
    return show("partition", "--all")


def run_once(script: str, name: str, wait_s: int) -> List[str]:
    """Return the command that runs a shell script as one task of a job, if a node is free within `wait_s` seconds."""
    options = ["--quiet", "--nodes=1", "--ntasks=1", "--time=2", "--chdir=/"]
    return ["srun", *options, f"--immediate={wait_s}", f"--job-name={name}", "sh", "-c", script]


def show_config() -> List[str]:
    """Return the command for slurmctld's configuration, one NAME = VALUE per line."""
    return ["scontrol", "show", "config"]


def cancel(jobs: Sequence[str], user: str = "") -> List[str]:
    """Return the command that cancels jobs; with `user` only those of this user.

    With `user`, one id with a bracket, such as `7_[2-5]`, limits the whole command to pending jobs, so that running
    tasks of the array stay.
    """
    states = ["--state=PENDING"] if user and any("[" in job for job in jobs) else []
    ids = [job.partition("_[")[0] for job in jobs] if states else jobs
    return ["scancel", *(["--user=" + user] if user else []), *states, *ids]


def set_state(nodes: str, state: str, reason: str = "") -> List[str]:
    """Return the command that sets the state of nodes (a hostlist) to DRAIN, RESUME ..., with the reason if given."""
    return [
        "scontrol",
        "update",
        "NodeName=" + nodes,
        "State=" + state,
        *(["Reason=" + reason] if reason else []),
    ]


def drain(nodes: str, reason: str) -> List[str]:
    """Return the command that drains nodes (a hostlist) with a reason: no new jobs, running ones continue."""
    return set_state(nodes, "DRAIN", reason)


def resume(nodes: str) -> List[str]:
    """Return the command that resumes nodes (a hostlist), so that they accept jobs again."""
    return set_state(nodes, "RESUME")


def set_job(job: str, **fields: str) -> List[str]:
    """Return the command that changes fields of a job: `set_job("12", ExcNodeList="n3")`."""
    return ["scontrol", "update", "JobId=" + job, *(f"{name}={value}" for name, value in fields.items())]


def requeue(job: str) -> List[str]:
    """Return the command that requeues a running job; Slurm refuses it for jobs with --no-requeue."""
    return ["scontrol", "requeue", job]


def set_comment(node: str, comment: str) -> List[str]:
    """Return the command that sets a node's comment."""
    return ["scontrol", "update", "NodeName=" + node, "Comment=" + comment]
