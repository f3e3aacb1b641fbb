"""What is known of one node, job or alert, as lines; pure."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.config.names import fold
from clusterwright.monitor.snapshot import Alert, JobView, NodeView, Run, Snapshot, Team, waits
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.monitor.top.columns import RenderOptions
from clusterwright.monitor.top.forms import Cell, compact_number, curve, gib, heat, percent, span
from clusterwright.monitor.top.messages import translate
from clusterwright.slurm.states import is_pending

Line = list[Cell]
Lines = Sequence[Line | None]
_LABEL = 14
WIDTH = 64  # of a curve


def detail_lines(
    item: NodeView | JobView | Alert | Team, snapshot: Snapshot, options: RenderOptions
) -> list[Line]:
    """Its lines, without those that would say nothing."""
    return [line for line in _all(item, snapshot, options) if line is not None]


def _all(item: NodeView | JobView | Alert | Team, snapshot: Snapshot, options: RenderOptions) -> Lines:
    if isinstance(item, NodeView):
        return _node(item, snapshot, options)
    if isinstance(item, JobView):
        return _job(item, options)
    if isinstance(item, Alert):
        return _alert(item, options)
    return _team(item, snapshot, options)


def _node(node: NodeView, snapshot: Snapshot, options: RenderOptions) -> Lines:
    state = f"{node.state} {translate('drained', options.lang)}" if node.drained else node.state
    lines: list[Line | None] = [
        [(node.name, "bold")],
        _field("state", state, options),
        _field("reason", visible(node.reason), options),
        _field("by", node.by, options),
        _field("since", span(options.now - node.since) if node.since else "", options),
        _field("group", node.group, options),
        _field("leaf", node.leaf, options),
        _field("partition", ", ".join(node.partitions), options),
        _field("cpus", f"{node.cpus_used}/{node.cpus}", options),
        _field("load", "" if node.load is None else f"{node.load:.1f}", options),
        _field("memory", f"{gib(node.memory_used)} / {gib(node.memory_total)}", options),
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
    reason = waits(job.reason or "None", options.lang) if is_pending(job.state) else ""
    lines: list[Line | None] = [
        [(f"{job.id} {visible(job.name)}", "bold")],
        _field("state", f"{job.state} ({visible(job.reason)})" if job.reason else job.state, options),
        _field("reason", visible(reason), options),
        _field("user", visible(job.user), options),
        _field("team", visible(job.account), options),
        _field("partition", job.partition, options),
        _field("priority", str(job.priority), options),
        _field("cpus", str(job.cpus), options),
        _field("gpus", str(job.gpus), options),
        _field("heat", "" if job.utilisation is None else percent(job.utilisation), options),
        _field("hosts", fold(job.nodes) if job.nodes else str(job.node_count), options),
        _ago("submitted", job.submitted, options),
        _ago("started", job.started, options),
        _ahead("expected", job.expected, options),
        _ahead("ends", job.ends, options),
    ]
    return [*lines, *(_run(job.run, options) if job.run else [])]


def _run(run: Run, options: RenderOptions) -> Lines:
    step = "" if run.step is None else f"{run.step}" + (f" / {run.until}" if run.until else "")
    fast = [f"{compact_number(run.tokens_per_s)} tokens/s"] if run.tokens_per_s else []
    fast += [f"{compact_number(run.samples_per_s)} samples/s"] if run.samples_per_s else []
    fast += [f"MFU {run.mfu:.1%}"] if run.mfu is not None else []
    losses = [loss for _, loss in run.curve]
    lines: list[Line | None] = [
        [],
        _field("run", f"{visible(run.name)} ({visible(run.state)})", options),
        _field("step", step, options),
        _field("loss", "" if run.loss is None else f"{run.loss:.4g}", options),
        _field("speed", ", ".join(fast), options),
        _field("eta", "" if run.eta_s is None else span(run.eta_s), options),
        _field("goodput", "" if run.goodput is None else f"{run.goodput:.1%}", options),
        _field("data_wait", "" if run.data_wait is None else f"{run.data_wait:.1%}", options),
        _field("communication", "" if run.communication is None else f"{run.communication:.1%}", options),
        _field("checkpoint", "" if run.checkpoint_age_s is None else span(run.checkpoint_age_s), options),
        _field("slow_rank", visible(run.slow_rank), options),
    ]
    if losses:
        bars = curve(losses, WIDTH, ascii_only=options.ascii_only)
        lines += [[], [(f"{max(losses):.4g}", "dim")], [(bars, "green")], [(f"{min(losses):.4g}", "dim")]]
    return lines


def _alert(alert: Alert, options: RenderOptions) -> Lines:
    text = (alert.summary_zh if options.lang == "zh" else "") or alert.summary
    return [
        [(alert.name, "bold")],
        _field("severity", alert.severity, options),
        _field("subject", visible(alert.subject), options),
        _field("since", span(options.now - alert.since), options),
        _field("summary", visible(text, 1000), options),
        _field("runbook", visible(alert.runbook), options),
        _field("muted", "✓" if alert.muted else "", options),
    ]


def _team(team: Team, snapshot: Snapshot, options: RenderOptions) -> Lines:
    jobs = [job for job in snapshot.jobs if job.account == team.name and job.nodes]
    users: dict[str, int] = {}
    for job in jobs:
        users[job.user] = users.get(job.user, 0) + job.gpus
    most = sorted(users.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        [(visible(team.name), "bold")],
        _field("share", percent(team.share), options),
        _field("use", percent(team.used), options),
        _field("fairshare", "" if team.fairshare is None else f"{team.fairshare:.3f}", options),
        _field("running", str(team.running), options),
        _field("waiting", str(team.waiting), options),
        [],
        *([(f"{visible(user, 32):<20} {gpus:>6} GPU", "")] for user, gpus in most),
    ]


def _field(name: str, text: str, options: RenderOptions) -> Line | None:
    """A label and what it says; nothing where there is nothing to say."""
    if not text:
        return None
    label = translate(name, options.lang)
    wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in label)
    return [(label + " " * max(1, _LABEL - wide), "dim"), (text, "")]


def _ago(name: str, when: float | None, options: RenderOptions) -> Line | None:
    return _field(name, "" if when is None else f"-{span(options.now - when)}", options)


def _ahead(name: str, when: float | None, options: RenderOptions) -> Line | None:
    return _field(name, "" if when is None else f"+{span(when - options.now)}", options)
