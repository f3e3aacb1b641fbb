"""What a job waits for, by Slurm's word for it; `wright why JOB` says who holds it, and what starts the job."""

from __future__ import annotations

import re
from functools import cache

# The beginning of Slurm's word (slurm.h, job_state_reason; 21.08 to 25.05), in English and in Chinese.
# The first that fits is taken: what is more particular stands before.
_MESSAGES = (
    ("Priority", "jobs with a higher priority come first", "优先级更高的作业排在前面"),
    ("Resources", "everything that it asks for is taken", "它要求的资源都被占用"),
    ("DependencyNeverSatisfied", "never: the job that it waits for failed", "它等待的作业已失败, 永远不会开始"),
    ("Dependency", "it waits for another job", "等待另一个作业"),
    ("JobHeldUser", "its user holds it", "被用户自己挂起"),
    ("JobHeldAdmin", "an administrator holds it", "被管理员挂起"),
    ("BeginTime", "its begin time has not come", "尚未到它的开始时间"),
    ("ReqNodeNotAvail", "a node that it asks for is not available", "它要求的节点不可用"),
    ("NodeDown", "a node that it asks for is down", "它要求的节点已宕机"),
    ("JobArrayTaskLimit", "its array runs as many tasks as it may", "作业数组同时运行的任务数已达上限"),
    ("PartitionTimeLimit", "its time limit is longer than the partition allows", "它的时限超过分区的上限"),
    ("PartitionNodeLimit", "it asks for more nodes than the partition allows", "它要求的节点数超过分区的上限"),
    ("PartitionDown", "the partition takes no jobs", "分区不接受作业"),
    ("PartitionInactive", "the partition starts no jobs", "分区不启动作业"),
    ("PartitionConfig", "the partition does not allow it", "分区不允许它"),
    ("Reservation", "its reservation has not begun or is not there", "它的预约尚未开始或不存在"),
    ("Licenses", "the licenses are in use", "许可证已用完"),
    ("InvalidAccount", "its account is not valid", "它的账户无效"),
    ("InvalidQOS", "its quality of service is not valid", "它的服务质量 (QOS) 无效"),
    ("AccountNotAllowed", "its account may not use this partition", "它的账户不能使用该分区"),
    ("QOSNotAllowed", "its quality of service may not use this partition", "它的服务质量 (QOS) 不能使用该分区"),
    ("BadConstraints", "no node could ever meet what it asks for", "没有节点能满足它的要求"),
    ("QOS.*(Jobs|Submit)", "the quality of service allows the user no more jobs", "服务质量 (QOS) 不允许更多作业"),
    ("QOS.*(GRES|Gres)", "the quality of service allows no more GPUs", "服务质量 (QOS) 不允许更多 GPU"),
    ("QOS.*(Time|Wall|Minutes|Mins)", "the quality of service allows no more time", "服务质量 (QOS) 不允许更长时间"),
    ("QOS", "a limit of the quality of service is reached", "已达服务质量 (QOS) 的限额"),
    ("(Assoc|Association)", "", ""),  # below, by what it limits
    ("JobHoldMaxRequeue", "held: it was requeued too often", "重新排队次数过多, 被挂起"),
    ("launch failed requeued held", "held: it could not be started on its node", "无法在节点上启动, 被挂起"),
    ("(BurstBuffer|Front|Reboot|Prolog|Cleaning)", "a node is being made ready", "正在准备节点"),
    ("DeadLine", "it cannot end before its deadline", "无法在截止时间前结束"),
    ("None", "Slurm has not looked at it yet", "Slurm 尚未考察它"),
)  # fmt: skip
_ASSOC = (
    ("Job", "the team has as many jobs as it may", "团队的作业数已达上限"),
    ("GRES|Gres", "the team holds as many GPUs as it may", "团队占用的 GPU 已达上限"),
    ("Time|Wall|Minutes|Mins", "the team has used the time that it may", "团队的时间限额已用完"),
    ("", "a limit of the team is reached", "已达团队的限额"),
)
_PATTERNS = [(re.compile(pattern), en, zh) for pattern, en, zh in _MESSAGES]
_OF_TEAM = [(re.compile(pattern), en, zh) for pattern, en, zh in _ASSOC]


@cache
def waits(reason: str, lang: str = "en") -> str:
    """One plain clause; Slurm's own word where it is not known here, and nothing for no reason."""
    row = next((row for row in _PATTERNS if row[0].match(reason)), None) if reason else None
    if row is None:
        return reason
    if not row[1]:
        row = next(row for row in _OF_TEAM if row[0].search(reason))
    return row[2] if lang == "zh" else row[1]
