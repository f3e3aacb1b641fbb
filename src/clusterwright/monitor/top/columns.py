"""Rows of the four panels as cells, with the columns that fit the width; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusterwright.config.names import fold
from clusterwright.i18n import _, current_language
from clusterwright.monitor.snapshot import Alert, JobView, NodeView, Snapshot, Team, lacks, waits
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.monitor.top.forms import STATES, Cell, compact_number, heat, percent, span, strip
from clusterwright.monitor.top.groups import HostGroup
from clusterwright.monitor.top.messages import label
from clusterwright.monitor.top.queue import runs
from clusterwright.slurm.states import is_pending

Cells = list[list[Cell]]  # of a row; a cell consists of parts, each with a style
HEAT = 16  # characters of the row of GPU utilizations; they fit 120 columns beside teams and alerts


@dataclass(frozen=True, slots=True)
class Column:
    """A column: name of its label, width (0: the rest), and the least width of the panel that shows it."""

    name: str
    width: int
    from_width: int = 0
    align_right: bool = False


NODES = (
    Column("group", 16), Column("state", 13), Column("count", 5, align_right=True),
    Column("gpus", 11, align_right=True),
    Column("heat", HEAT, 66), Column("hosts", 0, 78),
)  # fmt: skip
JOBS = (
    Column("id", 12), Column("state", 10), Column("user", 10), Column("team", 10, 90),
    Column("gpus", 5, align_right=True),
    Column("heat", 7, 70, align_right=True), Column("time", 8, align_right=True),
    Column("left", 8, 110, align_right=True),
    Column("progress", 26, 132), Column("name", 24, 60), Column("where", 0, 100),
)  # fmt: skip
TEAMS = (
    Column("team", 12), Column("gpus", 6, align_right=True), Column("running", 7, align_right=True),
    Column("waiting", 7, align_right=True), Column("share", 6, 48, align_right=True),
    Column("use", 8, 58, align_right=True),
    Column("fairshare", 10, 70, align_right=True),
)  # fmt: skip
ALERTS = (
    Column("severity", 9),
    Column("subject", 14),
    Column("since", 7, align_right=True),
    Column("summary", 0),
)


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How rows are rendered: the time of the snapshot, and whether the terminal shows only ASCII."""

    now: float = 0.0
    ascii_only: bool = False


def fitting(columns: Sequence[Column], width: int) -> list[tuple[int, Column, int]]:
    """Return the columns that are shown at this width: their index in a row, the column, and its width.

    A column without a width of its own gets what remains, at least 4.
    """
    visible_columns = [(index, column) for index, column in enumerate(columns) if column.from_width <= width]
    fixed = sum(column.width + 1 for _, column in visible_columns)
    return [(index, column, column.width or max(4, width - fixed)) for index, column in visible_columns]


def heads(columns: Iterable[Column]) -> list[str]:
    """Return the headings of the columns."""
    return [label(column.name) for column in columns]


def of_group(row: HostGroup | NodeView, options: RenderOptions) -> Cells:
    """Return the cells of a row of the table of nodes: of a group of nodes, or of one node of an opened group."""
    if isinstance(row, NodeView):
        return _of_node(row, options)
    gpus_used, total = row.gpus
    uses = (
        [
            heat(use, is_allocated=is_allocated, ascii_only=options.ascii_only)
            for use, is_allocated in row.uses(HEAT)
        ]
        if total
        else []
    )
    return [
        [(f"+ {row.name or '-'}", "bold")],
        [_state(row.state, drained=row.drained)],
        [(str(len(row.nodes)), "")],
        [(f"{gpus_used}/{total}" if total else "-", "")],
        uses,
        [(row.hosts, "dim")],
    ]


def _of_node(node: NodeView, options: RenderOptions) -> Cells:
    use = f"{node.gpus_used}/{node.gpus_total}" if node.gpus_total else "-"
    detail = visible(node.reason) if node.reason else ", ".join(node.jobs)
    return [
        [(f"  {node.name}", "")],
        [_state(node.state, drained=node.drained)],
        [],
        [(use, "")],
        strip(node.gpus, gpus_used=node.gpus_used, ascii_only=options.ascii_only),
        [(detail, "yellow" if node.reason else "dim")],
    ]


def _state(state: str, *, drained: bool) -> Cell:
    if drained and state != "down":
        return (f"{state} {label('drained')}", "yellow")
    return (state, STATES.get(state, "magenta"))


def of_job(job: JobView, options: RenderOptions) -> Cells:
    """Return the cells of a job's row in the table of jobs; a GPU use below 10 % is red."""
    began = job.started if runs(job) else job.submitted
    remaining_s = None if job.ends is None or not runs(job) else job.ends - options.now
    use = "-" if job.utilisation is None else percent(job.utilisation)
    idle = job.utilisation is not None and job.utilisation < 0.1
    return [
        [(job.id, "bold")],
        [(job.state, STATES.get(job.state, "magenta"))],
        [(visible(job.user, 32), "")],
        [(visible(job.account, 32), "")],
        [(str(job.gpus or "-"), "")],
        [(use, "bold red" if idle else "")],
        [(span(None if began is None else options.now - began), "")],
        [(span(remaining_s), "")],
        [(progress(job), "green")],
        [(visible(job.name, 64), "")],
        [hosts_or_reason(job, options)],
    ]


def hosts_or_reason(job: JobView, options: RenderOptions) -> Cell:
    """Return a running job's hosts, else its reason.

    Of a pending job explained, with the expected time until its start.
    """
    if runs(job):
        return (fold(job.nodes) if job.nodes else "", "dim")
    reason = waits(job.reason or "None") if is_pending(job.state) else job.reason
    when = "" if job.expected is None else f" ({span(job.expected - options.now)})"
    return (visible(reason) + when, "yellow")


def progress(job: JobView) -> str:
    """Return a text about the progress of the job's run (steps done, loss, tokens/s); empty without run or step."""
    run = job.run
    if run is None or run.step is None:
        return ""
    progress_text = f"{run.step / run.total_steps:4.0%} " if run.total_steps else f"{run.step} "
    return progress_text + " ".join(
        part
        for part in (
            "" if run.loss is None else f"loss {run.loss:.3g}",
            "" if run.tokens_per_s is None else f"{compact_number(run.tokens_per_s)} tok/s",
        )
        if part
    )


def of_team(team: Team, _options: RenderOptions) -> Cells:
    """Return the cells of a team's row."""
    return [
        [(visible(team.name, 32), "bold")],
        [(str(team.gpus), "")],
        [(str(team.running), "")],
        [(str(team.waiting), "")],
        [(percent(team.share), "")],
        [(percent(team.used), "")],
        [("-" if team.fairshare is None else f"{team.fairshare:.2f}", "")],
    ]


def of_alert(alert: Alert, options: RenderOptions) -> Cells:
    """Return the cells of an alert's row."""
    text = (alert.summary_zh if current_language() == "zh" else "") or alert.summary
    kind = label("muted") if alert.muted else alert.severity
    return [
        [(kind, "dim" if alert.muted else STATES.get(alert.severity, ""))],
        [(visible(alert.subject, 64), "")],
        [(span(options.now - alert.since), "")],
        [(visible(text), "dim" if alert.muted else "")],
    ]


def headline(snapshot: Snapshot) -> Cells:
    """Return the sums of the cluster (nodes, GPUs, jobs, alerts) as cells; the parts of one cell stay on one line.

    Mean use is that of allocated GPUs; silenced alerts do not count.
    """
    nodes, jobs = snapshot.nodes, snapshot.jobs
    used, total = sum(node.gpus_used for node in nodes), sum(node.gpus_total for node in nodes)
    uses = [gpu.utilisation for node in nodes for gpu in node.gpus if gpu.job and gpu.utilisation is not None]
    down = sum(node.state in ("down", "not_responding") for node in nodes)
    drained = sum(node.drained and node.state != "down" for node in nodes)
    going, waiting = sum(map(runs, jobs)), sum(is_pending(job.state) for job in jobs)
    loud = [alert for alert in snapshot.alerts if not alert.muted]
    average_use = sum(uses) / len(uses) if uses else None

    return [
        [(visible(snapshot.cluster, 64), "bold")],
        [
            (f"{label('nodes')} {len(nodes)}", ""),
            _count_cell(label("down"), down, "bold red"),
            _count_cell(label("drained"), drained, "yellow"),
        ],
        [(_("GPUs {used}/{total} mean use {share}", used=used, total=total, share=percent(average_use)), "")],
        [(_("jobs running {running} pending {pending}", running=going, pending=waiting), "")],
        [_count_cell(label("alerts"), len(loud), "bold red")],
    ]


def missing(line: str) -> str:
    """Return the text about a part that the snapshot lacks, and why."""
    return _("missing: {part}", part=visible(lacks(line)))


def _count_cell(name: str, count: int, style: str) -> Cell:
    return (f" {name} {count}", style if count else "dim")
