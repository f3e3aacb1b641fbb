"""What Slurm says of a node, who said it, and what to do; values in, values out."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.drains import drain
from clusterwright.diagnose.pending.waiting import Words
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
_WHO_ZH = {
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
    cause: Words
    mend: Words
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
        said = Words(f"Slurm gives it jobs ({state}).", f"Slurm 正在向它分配作业 ({state})。")
        return NodeExplanation(
            name, state, "other", "node/in-service", said, Words("nothing", "无需处理"), line, out
        )
    if not reason:
        return _silent(name, parsed, line)
    found = drain(name, reason)
    signed = parse_drain_reason(reason)
    kind = next((kind for begins, kind in _CLASSES if signed.code.startswith(begins)), "other")
    by, when = signed.user, clock(signed.time)
    since = f" since {when}" if when else ""
    cause = Words(
        f"{found.by} took it out of service{since}: {found.reason}.",
        f"{_WHO_ZH[found.who] or by or '有人'}{f'于 {when} ' if when else ''}使其退出服务: {found.reason}。",
    )
    mend = Words(found.mend, f"按英文提示处理: {found.mend}")
    unheard = signed.code == "not-responding"
    return NodeExplanation(name, state, kind, f"node/{found.who}", cause, mend, line, out, unheard)


def _silent(name: str, parsed: NodeState, line: str) -> NodeExplanation:
    """Out of service, and nobody wrote why."""
    state, resume = parsed.text, client.line(client.resume(name))
    if parsed.is_in_maintenance:
        cause = Words("A maintenance reservation holds it.", "它处于维护预留之中。")
        return NodeExplanation(
            name,
            state,
            "other",
            "node/maintenance",
            cause,
            Words("wait for its end", "等待维护结束"),
            line,
            out=True,
        )
    if parsed.is_power_saving:
        cause = Words("Power saving has it off, or is switching it.", "节能功能已将其关闭, 或正在开关。")
        mend = Words("nothing: a job that needs it switches it on", "无需处理: 需要它的作业会将其开启")
        return NodeExplanation(name, state, "other", "node/power-saving", cause, mend, line, out=True)
    cause = Words(f"Slurm does not hear its slurmd ({state}).", f"Slurm 收不到它的 slurmd 的消息 ({state})。")
    mend = Words(
        f"see whether the host is up (`ssh {name}`), then `systemctl status slurmd` there; {resume}",
        f"看主机是否在线 (`ssh {name}`), 再看那里的 `systemctl status slurmd`; 之后 {resume}",
    )
    return NodeExplanation(
        name, state, "node-lost", "node/not-heard", cause, mend, line, out=True, unheard=True
    )
