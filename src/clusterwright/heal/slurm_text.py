"""Slurm's text as hosts and jobs; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from clusterwright.check.drains import drain
from clusterwright.config.names import expand
from clusterwright.edge.slurm import parse_job
from clusterwright.heal.seen import OURS, SPARE, Finding, Holder, Job, Node

NODES = "scontrol show node -o"
JOBS = "squeue --noheader --all --states=all --format='%i|%T|%x|%N'"  # hosts last: of all states, the ended ones too
_VALUE = re.compile(r"(?:^|\s)(NodeName|State|Partitions)=(\S+)")
_HEALTH = re.compile(r"; (?=[a-z]+-[a-z-]+ )")
_FAULT = re.compile(r"gpu-xid \d+|[a-z]+(?:-[a-z]+)+")  # how the health program begins each fault
_CODES = {
    "Kill task failed": "kill-task-failed",
    "Node unexpectedly rebooted": "unexpected-reboot",
    "Not responding": "not-responding",
    "ResumeTimeout": "resume-timeout",
    "SlurmdSpoolDir is full": "spool-dir-full",
}
_ALIVE = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT"})
ENDED_BADLY = frozenset({"FAILED", "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL"})


def node_of(line: str) -> Node:
    """One line of `scontrol show node -o`; reason and comment come last, because people write them."""
    told, _, rest = line.rstrip("\n").partition(" Reason=")
    values = dict(_VALUE.findall(told))
    word = values.get("State", "UNKNOWN")
    states = frozenset(re.split(r"\+", re.sub(r"[^A-Z_+]", "", word)))
    states |= {"NOT_RESPONDING"} if "*" in word else frozenset()
    signed = rest.partition(" Comment=")[0]
    reason = re.sub(r" \[[\w.$-]+@\S+\]\s*$", "", signed).strip()
    partitions = tuple(values.get("Partitions", "").split(",")) if values.get("Partitions") else ()
    out = bool(states & {"DRAIN", "DOWN", "FAIL", "ERROR"})
    return Node(
        values.get("NodeName", ""), states, _holder(reason, signed) if out else "free", reason, partitions,
        signed=signed,
    )  # fmt: skip


def _holder(reason: str, signed: str) -> Holder:
    if not reason:
        return "free"
    if reason.startswith(OURS):
        return "heal"
    return "spare" if reason.startswith(SPARE) else drain("", signed.strip()).who


def nodes_of(text: str, jobs: Mapping[str, Job]) -> dict[str, Node]:
    """Every host by name, with the jobs that hold it."""
    on: dict[str, list[str]] = {}
    for job in jobs.values():
        for host in job.hosts if job.state in _ALIVE else ():
            on.setdefault(host, []).append(job.id)
    found = (node_of(line) for line in text.splitlines() if line.startswith("NodeName="))
    return {node.name: node.holding(tuple(on.get(node.name, ()))) for node in found}


def jobs_of(text: str) -> dict[str, Job]:
    """Every job by its id; whether it may be started anew is asked for where that matters."""
    rows = (line.strip().split("|", 3) for line in text.splitlines() if line.count("|") > 2)
    return {
        id_: Job(id_, state, tuple(expand(hosts)) if hosts else (), excludes=_excluded(excluded))
        for id_, state, excluded, hosts in rows
    }


def with_record(job: Job, text: str) -> Job:
    """With what `scontrol show job -o` says of it."""
    fields = parse_job(text) if text.strip() else {}
    restarts = fields.get("Restarts", "0")
    again = fields.get("Requeue") == "1" and fields.get("BatchFlag") == "1"
    return job.known(again=again, restarts=int(restarts) if restarts.isdigit() else 0)


def _excluded(text: str) -> tuple[str, ...]:
    return tuple(expand(text)) if text not in ("", "(null)", "N/A") else ()


def reason_code(reason: str) -> str:
    """What slurmctld drained a host for; `other` for what no rule answers."""
    return next((code for begin, code in _CODES.items() if reason.startswith(begin)), "other")


def _fault_code(text: str) -> str:
    """`gpu-xid-79` of `gpu-xid 79 off the bus`, and the first word of every other fault."""
    found = _FAULT.match(text)
    return found[0].replace(" ", "-") if found else "other"


def findings_of(nodes: Iterable[Node]) -> Iterator[Finding]:
    """What Slurm and the hosts' own health programs say."""
    for node in nodes:
        if node.holder == "health":
            text = re.sub(r" \[[0-9a-f]{8}\]$", "", node.reason).removeprefix("wright: ")
            parts = [part for part in _HEALTH.split(text) if part]
            yield from (Finding(node.name, "health", _fault_code(part), part) for part in parts)
        elif node.holder == "slurm":
            words = f"{node.reason} ({'+'.join(sorted(node.states))})"
            yield Finding(node.name, "slurm", reason_code(node.reason), words)
        if node.out and not node.answers and not node.changing and node.holder in ("free", "heal"):
            yield Finding(
                node.name,
                "slurm",
                "not-heard",
                f"slurmctld does not hear it ({'+'.join(sorted(node.states))})",
            )
