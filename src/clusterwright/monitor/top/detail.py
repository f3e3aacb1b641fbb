"""Details of one node, job, team or alert as lines; pure."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.config.names import fold
from clusterwright.i18n import current_language
from clusterwright.monitor.snapshot import Alert, JobView, NodeView, RunSnapshot, Snapshot, Team, waits
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.monitor.top.columns import RenderOptions
from clusterwright.monitor.top.forms import Cell, compact_number, curve, gib, heat, percent, span
from clusterwright.monitor.top.messages import label
from clusterwright.slurm.states import is_pending

Line = list[Cell]
Lines = Sequence[Line | None]
_LABEL = 14
WIDTH = 64  # of the loss curve


def detail_lines(
    item: NodeView | JobView | Alert | Team, snapshot: Snapshot, options: RenderOptions
) -> list[Line]:
    """Return lines about one node, job, alert or team, without those whose value is unknown."""
    return [line for line in _all(item, snapshot, options) if line is not None]


def _all(item: NodeView | JobView | Alert | Team, snapshot: Snapshot, options: RenderOptions) -> Lines:
    if isinstance(item, NodeView):
        return _node(item, snapshot, options)
    if isinstance(item, JobView):
        return _job(item, options)
    if isinstance(item, Alert):
        return _alert(item, options)
    return _team(item, snapshot)


def _node(node: NodeView, snapshot: Snapshot, options: RenderOptions) -> Lines:
    state = f"{node.state} {label('drained')}" if node.drained else node.state
    lines: list[Line | None] = [
        [(node.name, "bold")],
        _field("state", state),
        _field("reason", visible(node.reason)),
        _field("by", node.by),
        _field("since", span(options.now - node.since) if node.since else ""),
        _field("group", node.group),
        _field("leaf", node.leaf),
        _field("partition", ", ".join(node.partitions)),
        _field("cpus", f"{node.cpus_used}/{node.cpus}"),
        _field("load", "" if node.load is None else f"{node.load:.1f}"),
        _field("memory", f"{gib(node.memory_used)} / {gib(node.memory_total)}"),
    ]
    lines += [[]]
    for gpu in node.gpus:
        is_allocated = bool(gpu.job)
        bar = heat(gpu.utilisation, is_allocated=is_allocated, ascii_only=options.ascii_only)
        memory = f"{gib(gpu.memory_used)} / {gib(gpu.memory_total)}"
        warm = "-" if gpu.celsius is None else f"{gpu.celsius:.0f} °C"
        watts = "-" if gpu.watts is None else f"{gpu.watts:.0f} W"
        text = f" {percent(gpu.utilisation):>5} {memory:>18} {warm:>7} {watts:>7}  {gpu.job}"
        lines.append([(f"GPU {gpu.index} {visible(gpu.name, 24):<12} ", ""), bar, (text, "")])
    jobs = {job.id: job for job in snapshot.jobs}
    node_jobs = [jobs[name] for name in node.jobs if name in jobs]
    lines += [[]] + [
        [(f"{job.id:<12} {visible(job.user, 32):<12} {visible(job.name, 64)}", "")] for job in node_jobs
    ]
    return lines


def _job(job: JobView, options: RenderOptions) -> Lines:
    reason = waits(job.reason or "None") if is_pending(job.state) else ""
    lines: list[Line | None] = [
        [(f"{job.id} {visible(job.name)}", "bold")],
        _field("state", f"{job.state} ({visible(job.reason)})" if job.reason else job.state),
        _field("reason", visible(reason)),
        _field("user", visible(job.user)),
        _field("team", visible(job.account)),
        _field("partition", job.partition),
        _field("priority", str(job.priority)),
        _field("cpus", str(job.cpus)),
        _field("gpus", str(job.gpus)),
        _field("heat", "" if job.utilisation is None else percent(job.utilisation)),
        _field("hosts", fold(job.nodes) if job.nodes else str(job.node_count)),
        _ago("submitted", job.submitted, options),
        _ago("started", job.started, options),
        _ahead("expected", job.expected, options),
        _ahead("ends", job.ends, options),
    ]
    return [*lines, *(_run(job.run, options) if job.run else [])]


def _run(run: RunSnapshot, options: RenderOptions) -> Lines:
    step = "" if run.step is None else f"{run.step}" + (f" / {run.total_steps}" if run.total_steps else "")
    fast = [f"{compact_number(run.tokens_per_s)} tokens/s"] if run.tokens_per_s else []
    fast += [f"{compact_number(run.samples_per_s)} samples/s"] if run.samples_per_s else []
    fast += [f"MFU {run.mfu:.1%}"] if run.mfu is not None else []
    losses = [loss for _, loss in run.curve]
    lines: list[Line | None] = [
        [],
        _field("run", f"{visible(run.name)} ({visible(run.state)})"),
        _field("step", step),
        _field("loss", "" if run.loss is None else f"{run.loss:.4g}"),
        _field("speed", ", ".join(fast)),
        _field("eta", "" if run.eta_s is None else span(run.eta_s)),
        _field("goodput", "" if run.goodput is None else f"{run.goodput:.1%}"),
        _field("data_wait", "" if run.data_wait is None else f"{run.data_wait:.1%}"),
        _field("communication", "" if run.communication is None else f"{run.communication:.1%}"),
        _field("checkpoint", "" if run.checkpoint_age_s is None else span(run.checkpoint_age_s)),
        _field("slow_rank", visible(run.slow_rank)),
    ]
    if losses:
        bars = curve(losses, WIDTH, ascii_only=options.ascii_only)
        lines += [[], [(f"{max(losses):.4g}", "dim")], [(bars, "green")], [(f"{min(losses):.4g}", "dim")]]
    return lines


def _alert(alert: Alert, options: RenderOptions) -> Lines:
    text = (alert.summary_zh if current_language() == "zh" else "") or alert.summary
    return [
        [(alert.name, "bold")],
        _field("severity", alert.severity),
        _field("subject", visible(alert.subject)),
        _field("since", span(options.now - alert.since)),
        _field("summary", visible(text, 1000)),
        _field("runbook", visible(alert.runbook)),
        _field("muted", "✓" if alert.muted else ""),
    ]


def _team(team: Team, snapshot: Snapshot) -> Lines:
    jobs = [job for job in snapshot.jobs if job.account == team.name and job.nodes]
    users: dict[str, int] = {}
    for job in jobs:
        users[job.user] = users.get(job.user, 0) + job.gpus
    most = sorted(users.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        [(visible(team.name), "bold")],
        _field("share", percent(team.share)),
        _field("use", percent(team.used)),
        _field("fairshare", "" if team.fairshare is None else f"{team.fairshare:.3f}"),
        _field("running", str(team.running)),
        _field("waiting", str(team.waiting)),
        [],
        *([(f"{visible(user, 32):<20} {gpus:>6} GPU", "")] for user, gpus in most),
    ]


def _field(name: str, text: str) -> Line | None:
    """Return a label and its value as a line; None if the value is empty."""
    if not text:
        return None
    heading = label(name)
    wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in heading)
    return [(heading + " " * max(1, _LABEL - wide), "dim"), (text, "")]


def _ago(name: str, when: float | None, options: RenderOptions) -> Line | None:
    return _field(name, "" if when is None else f"-{span(options.now - when)}")


def _ahead(name: str, when: float | None, options: RenderOptions) -> Line | None:
    return _field(name, "" if when is None else f"+{span(when - options.now)}")
