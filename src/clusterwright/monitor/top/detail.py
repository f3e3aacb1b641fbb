"""What is known of one node, job or alert, as lines; pure."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.config.names import fold
from clusterwright.monitor.picture import Alert, JobView, NodeView, Picture, Run, Team, waits
from clusterwright.monitor.picture.visible import visible
from clusterwright.monitor.top.columns import Way
from clusterwright.monitor.top.forms import Cell, curve, gib, heat, many, percent, span
from clusterwright.monitor.top.words import word
from clusterwright.slurm.states import is_pending

Line = list[Cell]
Lines = Sequence[Line | None]
_LABEL = 14
WIDTH = 64  # of a curve


def of(item: NodeView | JobView | Alert | Team, picture: Picture, way: Way) -> list[Line]:
    """Its lines, without those that would say nothing."""
    return [line for line in _all(item, picture, way) if line is not None]


def _all(item: NodeView | JobView | Alert | Team, picture: Picture, way: Way) -> Lines:
    if isinstance(item, NodeView):
        return _node(item, picture, way)
    if isinstance(item, JobView):
        return _job(item, way)
    if isinstance(item, Alert):
        return _alert(item, way)
    return _team(item, picture, way)


def _node(node: NodeView, picture: Picture, way: Way) -> Lines:
    state = f"{node.state} {word('drained', way.lang)}" if node.drained else node.state
    lines: list[Line | None] = [
        [(node.name, "bold")],
        _said("state", state, way),
        _said("why", visible(node.why), way),
        _said("by", node.by, way),
        _said("since", span(way.now - node.since) if node.since else "", way),
        _said("group", node.group, way),
        _said("leaf", node.leaf, way),
        _said("partition", ", ".join(node.partitions), way),
        _said("cpus", f"{node.cpus_used}/{node.cpus}", way),
        _said("load", "" if node.load is None else f"{node.load:.1f}", way),
        _said("memory", f"{gib(node.memory_used)} / {gib(node.memory_total)}", way),
    ]
    lines += [[]]
    for gpu in node.gpus:
        held = bool(gpu.job)
        bar = heat(gpu.utilisation, held=held, ascii_only=way.ascii_only)
        rest = f"{gib(gpu.memory_used)} / {gib(gpu.memory_total)}"
        warm = "-" if gpu.celsius is None else f"{gpu.celsius:.0f} °C"
        watts = "-" if gpu.watts is None else f"{gpu.watts:.0f} W"
        text = f" {percent(gpu.utilisation):>5} {rest:>18} {warm:>7} {watts:>7}  {gpu.job}"
        lines.append([(f"GPU {gpu.index} {visible(gpu.name, 24):<12} ", ""), bar, (text, "")])
    jobs = {job.id: job for job in picture.jobs}
    mine = [jobs[name] for name in node.jobs if name in jobs]
    lines += [[]] + [
        [(f"{job.id:<12} {visible(job.user, 32):<12} {visible(job.name, 64)}", "")] for job in mine
    ]
    return lines


def _job(job: JobView, way: Way) -> Lines:
    why = waits(job.reason or "None", way.lang) if is_pending(job.state) else ""
    lines: list[Line | None] = [
        [(f"{job.id} {visible(job.name)}", "bold")],
        _said("state", f"{job.state} ({visible(job.reason)})" if job.reason else job.state, way),
        _said("why", visible(why), way),
        _said("user", visible(job.user), way),
        _said("team", visible(job.account), way),
        _said("partition", job.partition, way),
        _said("priority", str(job.priority), way),
        _said("cpus", str(job.cpus), way),
        _said("gpus", str(job.gpus), way),
        _said("heat", "" if job.utilisation is None else percent(job.utilisation), way),
        _said("hosts", fold(job.nodes) if job.nodes else str(job.node_count), way),
        _ago("submitted", job.submitted, way),
        _ago("started", job.started, way),
        _ahead("expected", job.expected, way),
        _ahead("ends", job.ends, way),
    ]
    return [*lines, *(_run(job.run, way) if job.run else [])]


def _run(run: Run, way: Way) -> Lines:
    step = "" if run.step is None else f"{run.step}" + (f" / {run.until}" if run.until else "")
    fast = [f"{many(run.tokens_per_s)} tokens/s"] if run.tokens_per_s else []
    fast += [f"{many(run.samples_per_s)} samples/s"] if run.samples_per_s else []
    fast += [f"MFU {run.mfu:.1%}"] if run.mfu is not None else []
    losses = [loss for _, loss in run.curve]
    lines: list[Line | None] = [
        [],
        _said("run", f"{visible(run.name)} ({visible(run.state)})", way),
        _said("step", step, way),
        _said("loss", "" if run.loss is None else f"{run.loss:.4g}", way),
        _said("speed", ", ".join(fast), way),
        _said("eta", "" if run.eta_s is None else span(run.eta_s), way),
        _said("goodput", "" if run.goodput is None else f"{run.goodput:.1%}", way),
        _said("data_wait", "" if run.data_wait is None else f"{run.data_wait:.1%}", way),
        _said("communication", "" if run.communication is None else f"{run.communication:.1%}", way),
        _said("checkpoint", "" if run.checkpoint_age_s is None else span(run.checkpoint_age_s), way),
        _said("slow_rank", visible(run.slow_rank), way),
    ]
    if losses:
        bars = curve(losses, WIDTH, ascii_only=way.ascii_only)
        lines += [[], [(f"{max(losses):.4g}", "dim")], [(bars, "green")], [(f"{min(losses):.4g}", "dim")]]
    return lines


def _alert(alert: Alert, way: Way) -> Lines:
    text = (alert.summary_zh if way.lang == "zh" else "") or alert.summary
    return [
        [(alert.name, "bold")],
        _said("severity", alert.severity, way),
        _said("subject", visible(alert.subject), way),
        _said("since", span(way.now - alert.since), way),
        _said("summary", visible(text, 1000), way),
        _said("runbook", visible(alert.runbook), way),
        _said("muted", "✓" if alert.muted else "", way),
    ]


def _team(team: Team, picture: Picture, way: Way) -> Lines:
    jobs = [job for job in picture.jobs if job.account == team.name and job.nodes]
    users: dict[str, int] = {}
    for job in jobs:
        users[job.user] = users.get(job.user, 0) + job.gpus
    most = sorted(users.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        [(visible(team.name), "bold")],
        _said("share", percent(team.share), way),
        _said("use", percent(team.used), way),
        _said("fairshare", "" if team.fairshare is None else f"{team.fairshare:.3f}", way),
        _said("running", str(team.running), way),
        _said("waiting", str(team.waiting), way),
        [],
        *([(f"{visible(user, 32):<20} {gpus:>6} GPU", "")] for user, gpus in most),
    ]


def _said(name: str, text: str, way: Way) -> Line | None:
    """A label and what it says; nothing where there is nothing to say."""
    if not text:
        return None
    label = word(name, way.lang)
    wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in label)
    return [(label + " " * max(1, _LABEL - wide), "dim"), (text, "")]


def _ago(name: str, when: float | None, way: Way) -> Line | None:
    return _said(name, "" if when is None else f"-{span(way.now - when)}", way)


def _ahead(name: str, when: float | None, way: Way) -> Line | None:
    return _said(name, "" if when is None else f"+{span(when - way.now)}", way)
