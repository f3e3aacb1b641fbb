"""Headings, labels and keys of the screen; `label` translates them."""

from __future__ import annotations

from clusterwright.i18n import N_, _

LABELS = {
    "nodes": N_("nodes"), "jobs": N_("jobs"), "teams": N_("teams"), "alerts": N_("alerts"), "gpus": N_("GPUs"),
    "running": N_("running"), "waiting": N_("pending"), "all": N_("all jobs"), "down": N_("down"),
    "drained": N_("drained"), "muted": N_("silenced"), "group": N_("group"), "state": N_("state"),
    "count": N_("count"), "hosts": N_("hosts"), "heat": N_("GPU use"), "id": N_("job"), "user": N_("user"),
    "team": N_("team"), "partition": N_("partition"), "name": N_("name"), "time": N_("time"), "left": N_("left"),
    "where": N_("hosts or reason"), "progress": N_("progress"), "share": N_("shares"), "use": N_("used"),
    "fairshare": N_("fair share"), "severity": N_("severity"), "alert": N_("alert"), "subject": N_("subject"),
    "since": N_("since"), "summary": N_("summary"), "cpus": N_("CPUs"), "memory": N_("host memory"), "load": N_("load"),
    "leaf": N_("switch"), "reason": N_("reason"), "by": N_("set by"), "priority": N_("priority"),
    "submitted": N_("submitted"), "started": N_("started"), "expected": N_("expected"), "ends": N_("ends"),
    "step": N_("step"), "loss": N_("loss"), "speed": N_("speed"), "goodput": N_("goodput"),
    "data_wait": N_("data wait"), "communication": N_("communication"), "checkpoint": N_("checkpoint"),
    "slow_rank": N_("slow rank"), "eta": N_("time left"), "run": N_("run"), "runbook": N_("runbook"),
}  # fmt: skip
KEYS = (
    ("q", N_("quit")),
    ("Tab, 1 2 3 4", N_("next panel; nodes, jobs, teams, alerts")),
    ("j k, arrows", N_("down, up; also PgDn PgUp, g G, Home End")),
    ("Enter", N_("details; for a group of nodes: the nodes of the group")),
    ("/", N_("search; Enter keeps the filter, Esc clears it")),
    ("s, S", N_("sort by the next column; reverse the order")),
    ("f", N_("all jobs, running jobs, pending jobs")),
    ("u", N_("only my jobs")),
    ("l, o", N_("the last lines of the job's output")),
    ("w", N_("why the job is pending or failed")),
    ("c, d", N_("cancel the job, after a question")),
    ("r", N_("refresh now (at most every 5 s)")),
    ("?", N_("this help")),
)


def label(name: str) -> str:
    """Return a heading, label or key description in the current language."""
    return _(LABELS[name])
