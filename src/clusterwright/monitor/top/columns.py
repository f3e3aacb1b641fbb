"""Rows of the four panels as cells, in as many columns as the width has room for; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusterwright.config.names import fold
from clusterwright.monitor.snapshot import Alert, JobView, NodeView, Snapshot, Team, waits
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.monitor.top.forms import STATES, Cell, compact_number, heat, percent, span, strip
from clusterwright.monitor.top.groups import Group
from clusterwright.monitor.top.messages import Lang, translate
from clusterwright.monitor.top.queue import runs
from clusterwright.slurm.states import is_pending

Cells = list[list[Cell]]  # of a row: each cell has parts with styles of their own
HEAT = 16  # signs of a strip: a terminal of 120 columns has room for it beside teams and alerts


@dataclass(frozen=True, slots=True)
class Column:
    """A heading; how wide it is (0: what is left); and from which width of the panel on it is shown."""

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
    """How things are said: the language, the clock of the picture, and whether only ASCII can be shown."""

    lang: Lang = "en"
    now: float = 0.0
    ascii_only: bool = False


def fitting(columns: Sequence[Column], width: int) -> list[tuple[int, Column, int]]:
    """Those for which there is room: their place in a row, and how wide they are."""
    visible_columns = [(index, column) for index, column in enumerate(columns) if column.from_width <= width]
    fixed = sum(column.width + 1 for _, column in visible_columns)
    return [(index, column, column.width or max(4, width - fixed)) for index, column in visible_columns]


def heads(columns: Iterable[Column], lang: Lang) -> list[str]:
    """The headings."""
    return [translate(column.name, lang) for column in columns]


def of_group(row: Group | NodeView, options: RenderOptions) -> Cells:
    """A group of nodes, or one node of an opened group."""
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
        [_state(row.state, options.lang, drained=row.drained)],
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
        [_state(node.state, options.lang, drained=node.drained)],
        [],
        [(use, "")],
        strip(node.gpus, gpus_used=node.gpus_used, ascii_only=options.ascii_only),
        [(detail, "yellow" if node.reason else "dim")],
    ]


def _state(state: str, lang: Lang, *, drained: bool) -> Cell:
    if drained and state != "down":
        return (f"{state} {translate('drained', lang)}", "yellow")
    return (state, STATES.get(state, "magenta"))


def of_job(job: JobView, options: RenderOptions) -> Cells:
    """One job."""
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
    """The hosts that it has, or what it waits for."""
    if runs(job):
        return (fold(job.nodes) if job.nodes else "", "dim")
    reason = waits(job.reason or "None", options.lang) if is_pending(job.state) else job.reason
    when = "" if job.expected is None else f" ({span(job.expected - options.now)})"
    return (visible(reason) + when, "yellow")


def progress(job: JobView) -> str:
    """How far its training is."""
    run = job.run
    if run is None or run.step is None:
        return ""
    progress_text = f"{run.step / run.until:4.0%} " if run.until else f"{run.step} "
    return progress_text + " ".join(
        part
        for part in (
            "" if run.loss is None else f"loss {run.loss:.3g}",
            "" if run.tokens_per_s is None else f"{compact_number(run.tokens_per_s)} tok/s",
        )
        if part
    )


def of_team(team: Team, _options: RenderOptions) -> Cells:
    """One team."""
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
    """One alert."""
    text = (alert.summary_zh if options.lang == "zh" else "") or alert.summary
    kind = translate("muted", options.lang) if alert.muted else alert.severity
    return [
        [(kind, "dim" if alert.muted else STATES.get(alert.severity, ""))],
        [(visible(alert.subject, 64), "")],
        [(span(options.now - alert.since), "")],
        [(visible(text), "dim" if alert.muted else "")],
    ]


def headline(snapshot: Snapshot, options: RenderOptions) -> Cells:
    """The cluster in some words, which belong together."""
    nodes, jobs = snapshot.nodes, snapshot.jobs
    used, total = sum(node.gpus_used for node in nodes), sum(node.gpus_total for node in nodes)
    uses = [gpu.utilisation for node in nodes for gpu in node.gpus if gpu.job and gpu.utilisation is not None]
    down = sum(node.state in ("down", "not_responding") for node in nodes)
    drained = sum(node.drained and node.state != "down" for node in nodes)
    going, waiting = sum(map(runs, jobs)), sum(is_pending(job.state) for job in jobs)
    loud = [alert for alert in snapshot.alerts if not alert.muted]
    average_use = sum(uses) / len(uses) if uses else None

    def label(name: str) -> str:
        return translate(name, options.lang)

    return [
        [(visible(snapshot.cluster, 64), "bold")],
        [
            (f"{label('nodes')} {len(nodes)}", ""),
            _count_cell(label("down"), down, "bold red"),
            _count_cell(label("drained"), drained, "yellow"),
        ],
        [(f"{label('gpus')} {used}/{total} {label('mean')} {percent(average_use)}", "")],
        [(f"{label('jobs')} {label('running')} {going} {label('waiting')} {waiting}", "")],
        [_count_cell(label("alerts"), len(loud), "bold red")],
    ]


def _count_cell(name: str, count: int, style: str) -> Cell:
    return (f" {name} {count}", style if count else "dim")
