"""Short text for Slurm's reason of a pending job; `wright why JOB` explains who holds what and what starts the job."""

from __future__ import annotations

import re
from functools import cache

from clusterwright.i18n import N_, _

# By the beginning of the reason (slurm.h, job_state_reason; 21.08 to 25.05). The first match counts.
_MESSAGES = (
    ("Priority", N_("jobs of higher priority come first")),
    ("Resources", N_("other jobs have the resources that the job requests")),
    ("DependencyNeverSatisfied", N_("the job never starts, because a job that it depends on failed")),
    ("Dependency", N_("the job depends on another job")),
    ("JobHeldUser", N_("the job is held by its user")),
    ("JobHeldAdmin", N_("the job is held by an administrator")),
    ("BeginTime", N_("the job's begin time is in the future")),
    ("ReqNodeNotAvail", N_("a requested node is not available")),
    ("NodeDown", N_("a requested node is down")),
    ("JobArrayTaskLimit", N_("the job array runs as many tasks as its limit allows")),
    ("PartitionTimeLimit", N_("the job's time limit exceeds that of the partition")),
    ("PartitionNodeLimit", N_("the job requests more nodes than the partition allows")),
    ("PartitionDown", N_("the partition is down")),
    ("PartitionInactive", N_("the partition is inactive")),
    ("PartitionConfig", N_("the partition does not allow the job")),
    ("Reservation", N_("the job's reservation has not begun or does not exist")),
    ("Licenses", N_("the licenses that the job requests are in use")),
    ("InvalidAccount", N_("the job's account is invalid")),
    ("InvalidQOS", N_("the job's QOS is invalid")),
    ("AccountNotAllowed", N_("the job's account may not use the partition")),
    ("QOSNotAllowed", N_("the job's QOS may not use the partition")),
    ("BadConstraints", N_("no node can satisfy the request")),
    ("QOSMaxWallDurationPerJob", N_("the job's time limit exceeds that of the QOS")),
    ("QOS.*(Jobs|(?<!Per)JobLimit|Submit)", N_("the job limit of the QOS is reached")),
    ("QOS.*(GRES|Gres)", N_("the GPU limit of the QOS is reached")),
    ("QOS.*(Time|Wall|Minutes|Mins)", N_("the time limit of the QOS is reached")),
    ("QOS", N_("a limit of the QOS is reached")),
    ("(Assoc|Association)MaxWallDurationPerJob", N_("the job's time limit exceeds that of the team")),
    ("(Assoc|Association).*(Jobs|(?<!Per)JobLimit|Submit)", N_("the job limit of the team is reached")),
    ("(Assoc|Association).*(GRES|Gres)", N_("the GPU limit of the team is reached")),
    ("(Assoc|Association).*(Time|Wall|Minutes|Mins)", N_("the time limit of the team is reached")),
    ("(Assoc|Association)", N_("a limit of the team is reached")),
    ("JobHoldMaxRequeue", N_("the job is held, because it was requeued too often")),
    ("launch failed requeued held", N_("the job is held, because its launch on the node failed")),
    ("(BurstBuffer|Front|Reboot|Prolog|Cleaning)", N_("a node for the job is being prepared")),
    ("DeadLine", N_("the job cannot end before its deadline")),
    ("None", N_("Slurm has not tried to schedule the job yet")),
)
_PATTERNS = [(re.compile(pattern), text) for pattern, text in _MESSAGES]


def waits(reason: str) -> str:
    """Return a short explanation of Slurm's reason; an unknown reason is returned as it is."""
    return _(message_of(reason))


@cache
def message_of(reason: str) -> str:
    """Return the English explanation of a pending reason, untranslated; an unknown reason itself."""
    return next((text for pattern, text in _PATTERNS if reason and pattern.match(reason)), reason)
