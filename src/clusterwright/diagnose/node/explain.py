"""What Slurm says of a node, who said it, and what to do; values in, values out."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.drains import drain
from clusterwright.diagnose.pending.waiting import Message
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import parse_drain_reason
from clusterwright.slurm.records import Record, clock
from clusterwright.slurm.states import NodeState, parse_node_state

# By the beginning of a reason's code: the class of the failure. Health's own codes first, then those of slurmctld's
# reasons, then heal's rules.
_CLASSES = (
    ("gpu-driver", "driver-mismatch"), ("gpu-", "gpu-hardware"), ("mount", "storage-io"),
    ("disk-full", "storage-full"), ("spool-dir-full", "storage-full"), ("munge", "slurm-auth"),
    ("clock", "time-skew"), ("link", "network-connectivity"),
    ("network-", "network-connectivity"), ("rdma-", "rdma-config"), ("not-responding", "node-lost"),
    ("unexpected-reboot", "node-lost"), ("kill-task-failed", "storage-io"), ("mismatch", "slurm-config"),
    ("hooks", "slurm-config"), ("invalid", "slurm-config"), ("resume-timeout", "node-lost"),
    ("host-down", "node-lost"), ("rebooted", "node-lost"), ("slurmd", "node-lost"), ("stuck", "storage-io"),
)  # fmt: skip
_ACTOR_ZH = {
    "health": "它自己的健康检查程序", "hooks": "Slurm (其 prolog 或 epilog 拒绝)", "command": "wright 的一条命令",
    "slurm": "Slurm", "person": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """Why a node is as it is: `kind` is the class of the failure, `other` where a person or a plan took it out."""

    name: str
    state: str
    kind: str
    mode: str
    cause: Message
    fix: Message
    evidence: str
    out: bool
    unheard: bool = False  # all that Slurm knows is that the node does not respond


def explain(record: Record) -> NodeExplanation:
    """Of one line of `scontrol show node`."""
    name, state, reason = record["NodeName"], record["State"], record["Reason"]
    line = record.quoted("NodeName", "State", "Reason", "Partitions", "BootTime", "SlurmdStartTime")
    parsed = parse_node_state(state)
    out = not parsed.is_available or parsed.is_power_saving or parsed.is_rebooting
    if not out:
        in_service = Message(f"Slurm gives it jobs ({state}).", f"Slurm 正在向它分配作业 ({state})。")
        return NodeExplanation(
            name, state, "other", "node/in-service", in_service, Message("nothing", "无需处理"), line, out
        )
    if not reason:
        return _explain_state(name, parsed, line)
    drain_record = drain(name, reason)
    signed = parse_drain_reason(reason)
    kind = next((kind for begins, kind in _CLASSES if signed.code.startswith(begins)), "other")
    by, when = signed.user, clock(signed.time)
    when_text = f" since {when}" if when else ""
    cause = Message(
        f"{drain_record.by} took it out of service{when_text}: {drain_record.reason}.",
        f"{_ACTOR_ZH[drain_record.origin] or by or '有人'}{f'于 {when} ' if when else ''}使其退出服务: "
        f"{drain_record.reason}。",
    )
    fix = Message(drain_record.fix, f"按英文提示处理: {drain_record.fix}")
    is_not_responding = signed.code == "not-responding"
    return NodeExplanation(
        name, state, kind, f"node/{drain_record.origin}", cause, fix, line, out, is_not_responding
    )


def _explain_state(name: str, parsed: NodeState, line: str) -> NodeExplanation:
    """Out of service, and nobody wrote why."""
    state, resume = parsed.text, client.line(client.resume(name))
    if parsed.is_in_maintenance:
        cause = Message("A maintenance reservation holds it.", "它处于维护预留之中。")
        return NodeExplanation(
            name,
            state,
            "other",
            "node/maintenance",
            cause,
            Message("wait for its end", "等待维护结束"),
            line,
            out=True,
        )
    if parsed.is_power_saving:
        cause = Message("Power saving has it off, or is switching it.", "节能功能已将其关闭, 或正在开关。")
        fix = Message("nothing: a job that needs it switches it on", "无需处理: 需要它的作业会将其开启")
        return NodeExplanation(name, state, "other", "node/power-saving", cause, fix, line, out=True)
    cause = Message(
        f"Slurm does not hear its slurmd ({state}).", f"Slurm 收不到它的 slurmd 的消息 ({state})。"
    )
    fix = Message(
        f"see whether the host is up (`ssh {name}`), then `systemctl status slurmd` there; {resume}",
        f"看主机是否在线 (`ssh {name}`), 再看那里的 `systemctl status slurmd`; 之后 {resume}",
    )
    return NodeExplanation(
        name, state, "node-lost", "node/not-heard", cause, fix, line, out=True, unheard=True
    )
