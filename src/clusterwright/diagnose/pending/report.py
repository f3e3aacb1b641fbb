"""Why a job waits, as text for a person and as a diagnosis for programs."""

from __future__ import annotations

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.pending.waiting import Message, Waiting

_CLASSES = {
    "nodes-out": "node-lost", "launch-failed-held": "slurm-config", "requeued-prolog": "slurm-config",
    "bad-constraints": "slurm-config",
}  # fmt: skip
_LABELS = {
    "en": ("reason", "starts", "held by", "change", "run by", "you", "an administrator", "no command starts it now"),
    "zh": ("原因", "开始", "占用者", "更改", "执行者", "你", "管理员", "没有命令能让它立即开始"),
}  # fmt: skip


def localize(message: Message, lang: str) -> str:
    """In the language."""
    return message.zh if lang == "zh" else message.en


def format_waiting(waiting: Waiting, job: str, lang: str) -> str:
    """The cause, when it starts, who holds what it needs, and the change."""
    reason, starts, holder_label, change, by, user, admin, none = _LABELS[lang]
    rows = [(reason, localize(waiting.cause, lang)), (starts, localize(waiting.starts, lang))]
    rows += [(holder_label if number == 0 else "", holder) for number, holder in enumerate(waiting.held_by)]
    if waiting.change:
        rows += [(change, f"{waiting.change.command}    ({localize(waiting.change.description, lang)})")]
        rows += [(by, user if waiting.change.by == "user" else admin)]
    else:
        rows += [(change, none)]
    head = f"{job}: PENDING ({waiting.reason})  pending/{waiting.id}"
    return "\n".join([head, *(f"  {_padded(name)}{text}" for name, text in rows)])


def _padded(name: str) -> str:
    wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in name)
    return name + " " * max(2, 10 - wide)


def diagnosis(waiting: Waiting, job: str, lang: str) -> Diagnosis:
    """As one document with all other diagnoses; what is read of Slurm itself is certain."""
    starts, change = localize(waiting.starts, lang), waiting.change
    holders = "; ".join(waiting.held_by)
    cause = " ".join(
        part
        for part in (
            localize(waiting.cause, lang),
            f"[{_LABELS[lang][1]}: {starts}]",
            holders and f"[{holders}]",
        )
        if part
    )
    fix = (
        f"`{change.command}`: {localize(change.description, lang)} ({_LABELS[lang][5 if change.by == 'user' else 6]})"
        if change
        else ""
    )
    return Diagnosis(
        kind=_CLASSES.get(waiting.id, "slurm-limits"),
        mode=f"pending/{waiting.id}",
        role="root",
        cause=cause,
        subject={"job": job},
        confidence=0.0 if waiting.id == "unknown" else 0.95,
        evidence=tuple(Evidence(source, 1, text) for source, text in waiting.evidence),
        fix=fix or _LABELS[lang][7],
        retry="fixed" if change else "yes",
    )
