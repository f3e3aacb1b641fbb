"""It has its nodes, and waits for what comes before its script; or was just turned away."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import AT_NEXT_CYCLE, Message, Waiting


@reason("Prolog")
def prolog(facts: Facts) -> Waiting:
    """The prolog runs."""
    return Waiting(
        "prolog",
        Message(
            f"Its nodes run the prolog ({facts.job['NodeList']}); "
            "if this lasts, `journalctl -u slurmd` there says why.",
            f"它的节点正在运行 prolog ({facts.job['NodeList']}); 若持续很久, 见那里的 `journalctl -u slurmd`。",
        ),
        Message("when the prolog has ended", "prolog 结束之后"),
    )


@reason("Cleaning|SystemFailure|FrontEndDown|NonZeroExitCode|RaisedSignal|Preempt|FedJobLock|BurstBuffer")
def passing(facts: Facts) -> Waiting:
    """States of Slurm's own that pass, or that its log explains."""
    token = facts.job["Reason"]
    return Waiting(
        token.partition(":")[0].lower(),
        Message(
            f"Slurm is busy with it ({token}); what it was before is still being cleaned up.",
            f"Slurm 正在处理它 ({token}); 上一次运行的收尾尚未完成。",
        ),
        AT_NEXT_CYCLE,
    )
