"""A cluster of any size as gather finds it: texts of Slurm 22.05's commands, metrics, alerts, runs; and the picture.

`made_picture` is what a good reading of `recorded` gives. The same seed gives the same cluster.
The forms are those that real daemons printed (tests/diagnose/pending/recorded, and
tests/monitor/test_gather_lab.py holds them to it); the names of some jobs are what a stranger would try.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections import Counter
from dataclasses import replace

from clusterwright.config.names import fold
from clusterwright.monitor.snapshot import Alert, GpuSnapshot, JobView, NodeView, RunSnapshot, Snapshot, Team

NOW = 1_795_400_000.0  # 2026-11-23 02:13:20 UTC
MARK = "\x1ewrecorded\x1e"  # what gather puts between fields: other at each asking, so no name can hold it
MIB, HOUR = 2**20, 3600
GPUS, LEAF = 8, 32  # GPUs of a node, nodes of a leaf switch
TEAMS = {"vision": 0.3, "language": 0.4, "speech": 0.1, "robots": 0.15, "bio": 0.05}
MEASURED = ("utilisation", "memory_used", "memory_total", "celsius", "watts", "job", "name")
HOSTILE = (
    "<script>alert('name')</script>", "\x1b[31mred\x1b[0m\x1b]0;title\x07", "two\nlines",
    "invoice\u202efdp.exe", "bar|pipe=1 JobState=FAILED", "tab\there", '"><img src=x onerror=alert(1)>',
    "名字" * 40, "a" * 200, "{[bold red]}[/]", "e\u0301\u200b\u2066x\u2069", "'; DROP TABLE jobs; --",
)  # fmt: skip
NAMES = ("llama-8b", "resnet50", "bert-large", "whisper", "prep", "eval", "sweep", "jupyter", "diffusion")
# Slurm's reason, and its text as snapshot.waits has it.
REASONS = {
    "Priority": "jobs of higher priority come first",
    "Resources": "other jobs have the resources that the job requests",
    "QOSMaxJobsPerUserLimit": "the job limit of the QOS is reached",
    "AssocGrpGRES": "the GPU limit of the team is reached",
    "Dependency": "the job depends on another job",
    "JobHeldUser": "the job is held by its user",
    "BeginTime": "the job's begin time is in the future",
    "ReqNodeNotAvail, UnavailableNodes:h100-[0001-0002]": "a requested node is not available",
}
OUT = (  # state in scontrol, state in the picture, who, what was written, why
    ("DOWN+NOT_RESPONDING", "down", "slurm", "Not responding [slurm@{at}]", "Not responding"),
    ("IDLE+DRAIN", "idle", "health", "{health} [root@{at}]", "gpu-lost 0000:4e:00.0 is gone"),
    ("MIXED+DRAIN", "mixed", "person", "a fan is <b>loud</b> [alice@{at}]", "alice: a fan is <b>loud</b>"),
    ("IDLE+POWERED_DOWN", "powered_down", "", "", ""),
    ("IDLE+DRAIN", "idle", "command", "wright: apply [root@{at}]", "wright: apply"),
    ("IDLE+DRAIN", "idle", "hooks", "Prolog error [root@{at}]", "Prolog error"),
)  # fmt: skip


def made_picture(nodes=1000, jobs=5000, seed=0):
    """The picture of such a cluster."""
    dice = random.Random(seed)
    hosts = [_node(number, nodes, dice) for number in range(nodes)]
    queue = _running(hosts, jobs, dice)
    queue += [_pending(len(queue) + number, dice) for number in range(jobs - len(queue))]
    shown = tuple(_occupied(node, queue, dice) for node in hosts)
    picture = Snapshot("recorded", NOW, shown, tuple(_used(job, shown) for job in queue))
    return replace(picture, teams=_teams(queue, dice), alerts=_alerts(picture))


def recorded(nodes=1000, jobs=5000, seed=0):
    """The document that gather's far program prints for it."""
    return texts(made_picture(nodes, jobs, seed))


def texts(picture):
    """Any picture as commands and daemons would have said it."""
    reasons = {node.name: _reason(node) for node in picture.nodes}
    measures = {name: _measured(picture, name) for name in MEASURED}
    return {
        "schema": 1, "now": picture.taken, "mark": MARK,
        "said": {
            "jobs": "".join(map(_job_row, picture.jobs)),
            "nodes": "\n".join(_node_line(node, reasons[node.name]) for node in picture.nodes) + "\n",
            "shares": _shares(picture.teams),
        },
        "silent": {}, "measures": measures,
        "alerts": [_alert(alert) for alert in picture.alerts],
        "runs": {job.name: _run(job.run) for job in picture.jobs if job.run},
    }  # fmt: skip


def _measured(picture, name):
    """One family: values by node and GPU, where anybody said one."""
    found = {
        node.name: {
            str(gpu.index): getattr(gpu, name) for gpu in node.gpus if getattr(gpu, name) not in (None, "")
        }
        for node in picture.nodes
    }
    return {node: values for node, values in found.items() if values}


def as_json(document):
    """As it comes over the wire."""
    return json.dumps(document)


def _node(number, of, dice):
    group = "cpu" if number >= of * 0.95 else "a100" if number >= of * 0.8 else "h100"
    gpus = 0 if group == "cpu" else GPUS
    memory = 2_000_000 if gpus else 500_000
    node = NodeView(
        f"{group}-{number + 1:04}", "idle", group, ("train", "quick") if gpus else ("cpu",),
        leaf=f"leaf{number // LEAF + 1}", cpus=192, memory_total=memory * MIB, gpus_total=gpus,
        load=round(dice.uniform(0.1, 1.9), 2), memory_used=dice.randrange(8_000, 20_000) * MIB,
        gpus=tuple(
            GpuSnapshot(index, group, 0.0, dice.randrange(400, 600) * MIB, 81_559 * MIB, float(dice.randrange(28, 38)),
                float(dice.randrange(60, 80)))
            for index in range(gpus)
        ),
    )  # fmt: skip
    if number % 17 != 5:
        return node
    _, state, who, _, why = OUT[number // 17 % len(OUT)]
    since = NOW - dice.randrange(60, 90 * HOUR) if who else None
    return replace(node, state=state, drained=bool(who) and who != "slurm", by=who, reason=why, since=since)


def _running(hosts, most, dice):
    """Jobs on whole nodes and on parts of nodes, until most nodes are in use."""
    free = [node for node in hosts if node.state == "idle" and not node.drained and node.gpus]
    found = []
    while len(free) > len(hosts) * 0.06 and len(found) < most:
        many = dice.choice((1, 1, 1, 2, 4, 8, 16))
        if many == 1 and dice.random() < 0.5:  # a node that several share
            node, left = free.pop(0), GPUS
            while left and len(found) < most:
                gpus = min(left, dice.choice((1, 2, 4)))
                found.append(_job(len(found), "RUNNING", (node.name,), gpus, dice))
                left -= gpus
        else:
            names, free = tuple(sorted(node.name for node in free[:many])), free[many:]
            found.append(_job(len(found), "RUNNING", names, GPUS * len(names), dice))
    return found


def _job(number, state, nodes, gpus, dice):
    team = dice.choices(list(TEAMS), weights=TEAMS.values())[0]
    name = HOSTILE[number // 40 % len(HOSTILE)] if number % 40 == 7 else f"{dice.choice(NAMES)}-{number}"
    submitted = NOW - dice.randrange(HOUR, 100 * HOUR)
    started = submitted + dice.randrange(1, HOUR) if nodes else None
    job = JobView(
        str(100_000 + number), name, f"{team}{dice.randrange(1, 9)}", team, "train", state,
        nodes=nodes, node_count=max(1, len(nodes)), cpus=gpus * 24, gpus=gpus, priority=dice.randrange(1000, 90_000),
        submitted=submitted, started=started, ends=started + 7 * 24 * HOUR if started else None,
    )  # fmt: skip
    if nodes and number % 3 == 0:
        name = f"{dice.choice(NAMES)}-20261122-{number:06}"
        job = replace(job, name=name, run=_made_run(name, gpus, dice))
    return job


def _pending(number, dice):
    gpus = dice.choice((1, 2, 4, 8, 8, 16, 64, 256))
    job = _job(number, "PENDING", (), gpus, dice)
    reason = dice.choice(list(REASONS))
    held = reason == "JobHeldUser"
    name = f"{job.id}_[0-99%4]" if number % 50 == 3 else job.id
    return replace(
        job, id=name, reason=reason, explanation=REASONS[reason], node_count=max(1, gpus // GPUS),
        priority=0 if held else job.priority,
        expected=NOW + dice.randrange(60, 5 * HOUR) if reason in ("Resources", "BeginTime") else None,
    )  # fmt: skip


def _made_run(name, gpus, dice):
    step = dice.randrange(2000, 90_000)
    curve = tuple(
        (at * step // 100, round(2 + 8 * math.exp(-at / 25) + dice.uniform(-0.05, 0.05), 4))
        for at in range(1, 101)
    )
    return RunSnapshot(
        name, "running", step, 100_000, curve[-1][1], gpus * 5000.0, None, round(dice.uniform(0.3, 0.55), 3),
        float((100_000 - step) * 2), round(dice.uniform(0.9, 0.999), 4), round(dice.uniform(0, 0.08), 3),
        float(dice.randrange(10, 900)), "gpu 12" if dice.random() < 0.05 else "", curve,
        communication=round(step % 97 / 500, 3),
    )  # fmt: skip


def _occupied(node, queue, dice):
    """The node as it is with its jobs."""
    mine = (
        [job for job in queue if node.name in job.nodes] if not node.drained and node.state == "idle" else []
    )
    if not mine:
        return node
    held, gpus = 0, list(node.gpus)
    for job in mine:
        for _ in range(job.gpus // len(job.nodes)):
            busy = dice.choice((0.0, 0.35, 0.8, 0.9, 0.97, 0.99, 1.0, 1.0))
            gpus[held] = replace(
                gpus[held], job=job.id, utilisation=busy, memory_used=dice.randrange(20_000, 80_000) * MIB,
                celsius=round(38 + 40 * busy), watts=round(90 + 560 * busy),
            )  # fmt: skip
            held += 1
    return replace(
        node, state="allocated" if held == node.gpus_total else "mixed", gpus=tuple(gpus), gpus_used=held,
        jobs=tuple(job.id for job in mine), cpus_used=held * 24, load=round(held * 20 + dice.random(), 2),
        memory_used=held * 150_000 * MIB,
    )  # fmt: skip


def _used(job, nodes):
    """With the mean of its GPUs."""
    by_name = {node.name: node for node in nodes} if job.nodes else {}
    seen = [gpu.utilisation for name in job.nodes for gpu in by_name[name].gpus if gpu.job == job.id]
    return replace(job, utilisation=sum(seen) / len(seen)) if seen else job


def _teams(queue, dice):
    gpus, running = Counter(), Counter()
    for job in queue:
        if job.state == "RUNNING":
            gpus[job.account] += job.gpus
            running[job.account] += 1
    waiting = Counter(job.account for job in queue if job.state == "PENDING")
    return tuple(
        Team(name, share, round(share * dice.uniform(0.5, 1.5), 6), round(dice.uniform(0, 1), 6), gpus[name],
             running[name], waiting[name])
        for name, share in TEAMS.items()
    )  # fmt: skip


def _alerts(picture):
    out = [node for node in picture.nodes if node.reason]
    rows = [
        Alert("NodeDown" if node.state == "down" else "NodeDrained", "critical" if node.state == "down" else "warning",
              node.name, node.since, f"{node.name}: {node.reason}", f"{node.name}: {node.reason} (中文)",
              "https://docs.example/alerts", muted=node.by == "person")
        for node in out[:20]
    ]  # fmt: skip
    stalled = [job for job in picture.jobs if job.run][:1]
    rows += [
        Alert("JobStalled", "warning", job.id, NOW - 400, f"{job.id} makes no step", f"{job.id} 没有进展")
        for job in stalled
    ]
    order = {"critical": 0, "warning": 1}
    return tuple(sorted(rows, key=lambda each: (each.muted, order[each.severity], each.since)))


def _reason(node):
    """What scontrol shows for it."""
    form = next((row[3] for row in OUT if node.by and row[2] == node.by), "")
    health = f"wright: {OUT[1][4]}"
    signed = f"{health} [{hashlib.sha256(health.encode()).hexdigest()[:8]}]"
    return form.format(at=int(node.since or 0), health=signed)


def _state(node):
    word = next((row[0] for row in OUT if (row[1], row[2], row[4]) == (node.state, node.by, node.reason)), "")
    return word if node.reason or node.state == "powered_down" else node.state.upper()


def _node_line(node, reason):
    total, free = node.memory_total // MIB, (node.memory_total - (node.memory_used or 0)) // MIB
    gres = f"gpu:{node.group}:{node.gpus_total}" if node.gpus_total else "(null)"
    has = f",gres/gpu={node.gpus_total},gres/gpu:{node.group}={node.gpus_total}" if node.gpus_total else ""
    held = f",gres/gpu={node.gpus_used},gres/gpu:{node.group}={node.gpus_used}" if node.gpus_used else ""
    used = f"cpu={node.cpus_used},mem={node.cpus_used * 8}G{held}" if node.cpus_used else ""
    return (
        f"NodeName={node.name} Arch=x86_64 CoresPerSocket=48  CPUAlloc={node.cpus_used} CPUEfctv={node.cpus} "
        f"CPUTot={node.cpus} CPULoad={node.load:.2f} AvailableFeatures=(null) ActiveFeatures=(null) Gres={gres} "
        f"NodeAddr={node.name} NodeHostName={node.name} Version=22.05.8 "
        f"OS=Linux 6.1.0-26-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.112-1 (2024-09-30)  RealMemory={total} "
        f"AllocMem={node.cpus_used * 8192} FreeMem={free} Sockets=2 Boards=1 MemSpecLimit=8192 State={_state(node)} "
        f"ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions={','.join(node.partitions)}  "
        f"BootTime=1795300000 SlurmdStartTime=1795300100 LastBusyTime=1795400000 "
        f"CfgTRES=cpu={node.cpus},mem={total}M,billing={node.cpus}{has} AllocTRES={used} CapWatts=n/a CurrentWatts=0 "
        f"AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s"
        + (f" Reason={reason}" if reason else "")
    )


def _job_row(job):
    """As squeue --Format prints it with the mark after each field."""
    tres = f"cpu={job.cpus},mem={job.cpus * 8}G,node={job.node_count},billing={job.cpus}"
    tres += f",gres/gpu={job.gpus},gres/gpu:h100={job.gpus}" if job.gpus else ""
    when = [job.submitted, job.started or job.expected, job.ends]
    fields = [
        job.id, job.id.partition("_")[0], job.user, job.account, job.partition, job.state, job.reason or "None",
        job.node_count, job.cpus,
        job.priority, *("N/A" if each is None else int(each) for each in when), fold(job.nodes) if job.nodes else "",
        tres, f"gres:gpu:{min(GPUS, job.gpus)}" if job.gpus else "N/A", job.name,
    ]  # fmt: skip
    return "".join(f"{each}{MARK}" for each in fields) + "\n"


def _shares(teams):
    """As sshare -a -P: accounts, and beneath each its users."""
    rows = [
        "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare",
        "root|||0.000000|99|1.000000|",
    ]
    rows.append("root|root|1|0.009901|0|0.000000|1.000000")
    for team in teams:
        raw = round((team.share or 0) * 100)
        rows.append(f" {team.name}||{raw}|{team.share:.6f}|4242|{team.used:.6f}|{team.fairshare:.6f}")
        rows.append(f"  {team.name}|{team.name}1|1|1.000000|0|0.000000|0.500000")
    return "\n".join(rows) + "\n"


def _alert(alert):
    """As Alertmanager's second interface says it."""
    subject = "job" if alert.subject.isdigit() else "node"
    notes = {"summary": alert.summary, "summary_zh": alert.summary_zh, "runbook_url": alert.runbook}
    seconds = int(alert.since)
    return {
        "labels": {"alertname": alert.name, "severity": alert.severity, subject: alert.subject, "cluster": "recorded"},
        "annotations": {name: text for name, text in notes.items() if text}, "since": seconds,
        "muted": alert.muted,
    }  # fmt: skip


def _run(run):
    """As gather's far program reads it of the run's events."""
    return {
        "state": run.state, "step": run.step, "total_steps": run.total_steps,
        "loss": run.loss, "tokens_per_s": run.tokens_per_s,
        "samples_per_s": run.samples_per_s, "mfu": run.mfu, "eta_s": run.eta_s, "goodput": run.goodput,
        "data_wait": run.data_wait, "communication": run.communication,
        "checkpoint_age_s": run.checkpoint_age_s, "slow_rank": run.slow_rank,
        "curve": [list(point) for point in run.curve],
    }  # fmt: skip
