"""Explain holds by the user, an administrator or Slurm, and begin times."""

from __future__ import annotations

from clusterwright.diagnose.pending.changes import update
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, StartCommand, Waiting
from clusterwright.i18n import _
from clusterwright.slurm.records import clock


@reason("JobHeldUser")
def by_user(facts: Facts) -> Waiting:
    """Explain that the job's user holds it, and propose `scontrol release` by the user."""
    return Waiting(
        "held-by-user",
        _("The job's user holds it (`scontrol hold` or `sbatch --hold`)."),
        _(NOT_BY_ITSELF),
        StartCommand(f"scontrol release {facts.id}", "user", _("release the job")),
    )


@reason("JobHeldAdmin")
def by_admin(facts: Facts) -> Waiting:
    """Explain that an administrator holds the job, and propose `scontrol release` by an administrator."""
    return Waiting(
        "held-by-admin",
        _("An administrator holds the job (priority 0); its user cannot release it."),
        _(NOT_BY_ITSELF),
        StartCommand(f"scontrol release {facts.id}", "admin", _("release the job")),
    )


@reason("(launch_failed|job_requeued|Job_launch|JobLaunch).*")
def after_failure(facts: Facts) -> Waiting:
    """Explain that Slurm requeued the job and holds it, after its launch failed or on request."""
    if "launch" not in facts.job["Reason"].lower():
        release = StartCommand(f"scontrol release {facts.id}", "user", _("release the job"))
        return Waiting("requeued-held", _("The job was requeued and is held."), _(NOT_BY_ITSELF), release)
    return Waiting(
        "launch-failed-held",
        _(
            "The job's launch failed (prolog failed, or the user or the working folder is missing on the node), and "
            "Slurm requeued and holds it. The reason is in slurmd's log on {host}.",
            host=facts.job["BatchHost"] or facts.job["NodeList"] or _("the job's first node"),
        ),
        _(NOT_BY_ITSELF),
        StartCommand(f"scontrol release {facts.id}", "admin", _("release the job")),
    )


@reason("BeginTime")
def begin_time(facts: Facts) -> Waiting:
    """Explain that the job's begin time is in the future: `--begin`, or the delay after a requeue."""
    when = clock(facts.job["EligibleTime"] or facts.job["StartTime"])
    at_once = update(facts, "StartTime=now", _("begin at once"))
    starts = _("from {time}", time=when)
    if not facts.job.number("Restarts"):
        cause = _("The job may not begin before {time} (`--begin`).", time=when)
        return Waiting("begin-time", cause, starts, at_once)
    refused = [name for name, node in facts.nodes.items() if "Prolog" in node["Reason"]]
    if not refused:
        cause = _("The job was requeued after it had its nodes, and may begin again from {time}.", time=when)
        return Waiting("requeued", cause, starts, at_once)
    cause = _(
        "The prolog failed on {hosts}, which Slurm drained; the job was requeued and may begin again from {time}.",
        hosts=", ".join(refused),
        time=when,
    )
    return Waiting("requeued-prolog", cause, starts, at_once, tuple(refused))
