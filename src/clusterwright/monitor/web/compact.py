"""Convert a snapshot to the page's JSON, with short rows for nodes, which are many and change often; pure.

All untrusted text is escaped here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from clusterwright.config.names import fold
from clusterwright.i18n import LANGUAGES, bilingual, in_language
from clusterwright.monitor.snapshot import Alert, GpuSnapshot, JobView, NodeView, RunSnapshot, Snapshot, Team
from clusterwright.monitor.snapshot.lacks import lacks
from clusterwright.monitor.snapshot.visible import visible as truncate_visible
from clusterwright.monitor.snapshot.waits import message_of
from clusterwright.slurm.states import is_allocated, is_pending

Json = object
Row = list[Json]
LONGEST = 200  # characters of one text

_USAGE_KINDS = {"allocated": "full", "mixed": "part", "completing": "part", "idle": "idle"}
_ABSENT = frozenset({"down", "fail", "failing", "error", "unknown", "not_responding", "inval", "future"})
_HOST_NAME = re.compile(r"[\w.-]+", re.ASCII)
SPARK = 40  # points of the loss curve in a list


def visible(text: str) -> str:
    """Return an untrusted text with control characters escaped, cut to LONGEST; the page itself escapes markup."""
    return truncate_visible(text, LONGEST)


def kind(node: NodeView) -> str:
    """Return the kind of a node, which sets its color: idle, part, full, draining, drained, down or other."""
    base = node.state.lower().rstrip("*~#!%$@^-+")
    if base in _ABSENT:
        return "down"
    if node.drained:
        return "draining" if node.jobs or base in {"mixed", "allocated", "draining"} else "drained"
    return _USAGE_KINDS.get(base, "other")


def word(node: NodeView) -> str:
    """Return the node's state in Slurm's words, such as `IDLE+DRAIN`."""
    return visible(node.state.upper() + "+DRAIN" * node.drained)


def node_row(node: NodeView) -> Row:
    """Return [name, group, leaf, partition, kind, state, jobs, GPUs used, GPUs, [four numbers per GPU]] of a node."""
    gpus = [number for gpu in node.gpus for number in _gpu(gpu)]
    partition = node.partitions[0] if node.partitions else ""
    texts = (node.name, node.group, node.leaf, partition, kind(node), word(node))
    return [*map(visible, texts), len(node.jobs), node.gpus_used, node.gpus_total, gpus]


def _gpu(gpu: GpuSnapshot) -> Iterable[int | None]:
    """Return utilization and memory in percent, degrees Celsius and watts; None where unknown."""
    memory = gpu.memory_used / gpu.memory_total if gpu.memory_used is not None and gpu.memory_total else None
    return _round(gpu.utilisation, 100), _round(memory, 100), _round(gpu.celsius), _round(gpu.watts)


def _round(value: float | None, times: float = 1) -> int | None:
    return None if value is None else round(value * times)


def sums(snapshot: Snapshot) -> dict[str, Json]:
    """Return the cluster's sums for the top of the page; `use` is the mean of all GPUs measured, None without any.

    Silenced alerts do not count.
    """
    kinds: dict[str, int] = {}
    for node in snapshot.nodes:
        kinds[kind(node)] = kinds.get(kind(node), 0) + 1
    uses = [gpu.utilisation for node in snapshot.nodes for gpu in node.gpus if gpu.utilisation is not None]
    active_alerts = [alert for alert in snapshot.alerts if not alert.muted]
    return {
        "nodes": len(snapshot.nodes),
        "kinds": kinds,
        "gpus": sum(node.gpus_total for node in snapshot.nodes),
        "gpus_used": sum(node.gpus_used for node in snapshot.nodes),
        "use": round(sum(uses) / len(uses), 3) if uses else None,
        "running": sum(is_allocated(job.state) for job in snapshot.jobs),
        "waiting": sum(is_pending(job.state) for job in snapshot.jobs),
        "critical": sum(alert.severity == "critical" for alert in active_alerts),
        "alerts": len(active_alerts),
    }


def alert_row(alert: Alert) -> dict[str, Json]:
    """Return an alert in both languages; a runbook that is not a web address is left out."""
    row = {key: visible(value) if isinstance(value, str) else value for key, value in asdict(alert).items()}
    if not alert.runbook.startswith(("https://", "http://")):
        row["runbook"] = ""
    return row


def team_row(team: Team) -> dict[str, Json]:
    """Return a team's share, use and jobs."""
    return asdict(team) | {"name": visible(team.name)}


def job_row(job: JobView) -> dict[str, Json]:
    """Return a job for a list, with at most SPARK points of its loss curve; `run` is None without a run.

    Only a pending job has an explanation of its reason.
    """
    text_fields = ("id", "name", "user", "account", "partition", "state", "reason")
    numbers = (
        "node_count", "cpus", "gpus", "priority", "submitted", "started", "expected", "ends", "utilisation",
    )  # fmt: skip
    row: dict[str, Json] = {key: visible(getattr(job, key)) for key in text_fields}
    row |= {key: getattr(job, key) for key in numbers}
    reason = job.reason or "None" if is_pending(job.state) else ""
    row["explanation"], row["explanation_zh"] = map(visible, bilingual(message_of(reason)))
    row["nodes"] = visible(_folded(job.nodes))
    row["run"] = None if job.run is None else _run(job.run) | {"curve": thinned(job.run.curve, SPARK)}
    return row


def job_page(job: JobView) -> dict[str, Json]:
    """Return a job with its whole loss curve and its nodes; `run` is None without a run."""
    row = job_row(job) | {"hosts": [visible(name) for name in job.nodes]}
    if job.run is not None:
        row["run"] = _run(job.run) | {"curve": [list(point) for point in job.run.curve]}
    return row


def node_page(node: NodeView) -> dict[str, Json]:
    """Return a node with all its values, and its GPUs by name."""
    row: dict[str, Json] = {
        key: visible(value) if isinstance(value, str) else value for key, value in asdict(node).items()
    }
    row["kind"], row["word"] = kind(node), word(node)
    row["partitions"], row["jobs"] = (
        [visible(name) for name in names] for names in (node.partitions, node.jobs)
    )
    row["gpus"] = [asdict(gpu) | {"name": visible(gpu.name), "job": visible(gpu.job)} for gpu in node.gpus]
    return row


def _run(run: RunSnapshot) -> dict[str, Json]:
    row = {key: value for key, value in asdict(run).items() if key != "curve"}
    return row | {key: visible(str(row[key])) for key in ("name", "state", "slow_rank")}


def _folded(names: tuple[str, ...]) -> str:
    """Return names as a hostlist; joined by commas if one is no host name, which a hostlist could expand."""
    are_host_names = all(_HOST_NAME.fullmatch(name) for name in names)
    return fold(names) if names and are_host_names else ",".join(names)


def thinned(points: tuple[tuple[int, float], ...], most: int) -> list[list[float]]:
    """Return at most `most` of the points, at even distances counted from the last one, which is always among them."""
    step = -(-len(points) // most) if points else 1
    selection = [list(point) for point in points[::-1][::step]]
    return selection[::-1]


def whole(snapshot: Snapshot) -> dict[str, Json]:
    """Return the document with all but the jobs, which the page queries separately."""
    return {
        "cluster": visible(snapshot.cluster),
        "taken": snapshot.taken,
        "sums": sums(snapshot),
        "nodes": [node_row(node) for node in snapshot.nodes],
        "alerts": [alert_row(alert) for alert in snapshot.alerts],
        "teams": [team_row(team) for team in snapshot.teams],
        "missing": [missing_row(line) for line in snapshot.missing],
    }


def missing_row(line: str) -> dict[str, Json]:
    """Return by language the text of a line of `Snapshot.missing`, which names what the snapshot lacks."""
    row: dict[str, Json] = {}
    for lang in LANGUAGES:
        with in_language(lang):
            row[lang] = visible(lacks(line))
    return row


def difference(old: Mapping[str, Json], new: Mapping[str, Json]) -> dict[str, Json]:
    """Return the change from one document to the next: parts that differ, and of the nodes the rows that differ.

    If the nodes or their order differ: all rows, and `all` is true.
    """
    parts = {key: value for key, value in new.items() if key != "nodes" and old.get(key) != value}
    old_rows, new_rows = _by_name(old), _by_name(new)
    changed = [row for name, row in new_rows.items() if old_rows.get(name) != row]
    if list(old_rows) != list(new_rows):  # other nodes, or another order: all rows
        return parts | {"nodes": list(new_rows.values()), "all": True}
    return parts | {"nodes": changed}


def _by_name(document: Mapping[str, Json]) -> dict[str, Row]:
    rows = document["nodes"]
    return {row[0]: row for row in rows} if isinstance(rows, list) else {}
