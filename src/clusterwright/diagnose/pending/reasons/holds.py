"""Somebody, or Slurm itself, holds it back."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Change, Message, Waiting
from clusterwright.i18n import _
from clusterwright.slurm.records import clock


@reason("JobHeldUser")
def by_user(facts: Facts) -> Waiting:
    """Its user holds it."""
    return Waiting(
        "held-by-user",
        Message(
            "Its user holds it (`scontrol hold` or `sbatch --hold`).",
            "作业被用户自己挂起 (`scontrol hold` 或 `sbatch --hold`)。",
        ),
        NOT_BY_ITSELF,
        Change(f"scontrol release {facts.id}", "user", Message("let it go", "解除挂起")),
    )


@reason("JobHeldAdmin")
def by_admin(facts: Facts) -> Waiting:
    """An administrator holds it."""
    return Waiting(
        "held-by-admin",
        Message(
            "An administrator holds it (priority 0); its user cannot release it.",
            "作业被管理员挂起 (优先级为 0), 用户自己不能解除。",
        ),
        NOT_BY_ITSELF,
        Change(f"scontrol release {facts.id}", "admin", Message("let it go", "解除挂起")),
    )


@reason("(launch_failed|job_requeued|Job_launch|JobLaunch).*")
def after_failure(facts: Facts) -> Waiting:
    """It was started, a host could not run it, and Slurm put it back and holds it."""
    failed = "launch" in facts.job["Reason"].lower()
    host = facts.job["BatchHost"] or facts.job["NodeList"]
    return Waiting(
        "launch-failed-held" if failed else "requeued-held",
        Message(
            "It could not be launched (a prolog that failed, a user or folder that is missing there); Slurm put it "
            f"back and holds it. The host's slurmd log says why{f': {host}' if host else ''}."
            if failed
            else "It was put back into the queue, held.",
            "作业启动失败 (prolog 失败, 或那里缺少该用户或目录); Slurm 已将其放回队列并挂起。原因见该主机的 slurmd 日志"
            f"{f': {host}' if host else ''}。"
            if failed
            else "作业被放回队列并挂起。",
        ),
        NOT_BY_ITSELF,
        Change(
            f"scontrol release {facts.id}",
            "admin" if failed else "user",
            Message("let it try again", "让它再试一次"),
        ),
    )


@reason("BeginTime")
def begin_time(facts: Facts) -> Waiting:
    """It asked not to begin before a time, or was just put back into the queue."""
    when = clock(facts.job["EligibleTime"] or facts.job["StartTime"])
    at_once = update(facts, "StartTime=now", Message("begin at once", "立即开始"))
    starts = Message(f"from {when}", f"{when} 起")
    if not facts.job.number("Restarts"):
        cause = Message(
            f"It may not begin before {when} (`--begin`).", f"它在 {when} 之前不能开始 (`--begin`)。"
        )
        return Waiting("begin-time", cause, starts, at_once)
    refused = [name for name, node in facts.nodes.items() if "Prolog" in node["Reason"]]
    reason = (
        _(" The prolog failed on {refused}, which Slurm drained.", refused=", ".join(refused))
        if refused
        else ""
    )
    why_zh = f"{', '.join(refused)} 上的 prolog 失败, Slurm 已将其排空。" if refused else ""
    return Waiting(
        "requeued-prolog" if refused else "requeued",
        Message(
            f"It had its nodes, was put back into the queue, and may begin again from {when}.{reason}",
            f"它曾经分到节点, 又被放回队列, 从 {when} 起可以再次开始。{why_zh}",
        ),
        starts,
        at_once,
        tuple(refused),
    )
