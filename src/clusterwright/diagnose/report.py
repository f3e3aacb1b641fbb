"""A diagnosis as a person reads it: the cause, where, the lines, what to do, and whether to try again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.reading.quoted import OURS

_LABELS = {
    "en": {
        "cause": "cause",
        "where": "where",
        "evidence": "evidence",
        "fix": "fix",
        "retry": "retry",
        "exclude": "exclude",
        "sure": "sure",
        "also": "less likely",
        "host": "host",
        "gpu": "GPU",
        "path": "path",
        "rank": "rank",
        "peer": "peer",
        "more": "more lines like these",
        "nothing": "Nothing in these logs tells of a failure.",
        "cascade": "this follows from a failure elsewhere",
        "teardown": "this is written when a run is stopped",
        "benign": "this is harmless",
        "no": "no, it fails again",
        "yes": "yes, as it is",
        "elsewhere": "yes, on other hosts",
        "fixed": "yes, once it is fixed",
    },
    "zh": {
        "cause": "原因",
        "where": "位置",
        "evidence": "证据",
        "fix": "处理",
        "retry": "重试",
        "exclude": "排除",
        "sure": "把握",
        "also": "可能性较小",
        "host": "主机",
        "gpu": "GPU",
        "path": "路径",
        "rank": "rank",
        "peer": "对端",
        "more": "行类似内容",
        "nothing": "这些日志中没有故障迹象。",
        "cascade": "这是别处故障的后果",
        "teardown": "这是作业停止时的输出",
        "benign": "这无害",
        "no": "否，会再次失败",
        "yes": "是，原样重试",
        "elsewhere": "是，换其他主机",
        "fixed": "是，处理之后",
    },
}
_MAX_DIAGNOSES = 3  # diagnoses, without --all

Paint = Callable[[str, str], str]


def uncolored(text: str, _style: str) -> str:
    """No colour."""
    return text


def coloured(text: str, style: str) -> str:
    """A terminal's own codes."""
    return f"\x1b[{style}m{text}\x1b[0m"


def format_report(
    diagnoses: list[Diagnosis], lang: str, *, everything: bool = False, paint: Paint = uncolored
) -> str:
    """All of it as text; the likeliest in full, the next in short."""
    labels = _LABELS[lang]
    if not diagnoses:
        return labels["nothing"]
    lines = [*_full(diagnoses[0], lang, paint)]
    remaining = (
        diagnoses[1:]
        if everything
        else [diagnosis for diagnosis in diagnoses[1:_MAX_DIAGNOSES] if diagnosis.role == "root"]
    )
    for diagnosis in remaining:
        lines += [
            "",
            paint(f"{labels['also']}:", "2"),
            *(_full(diagnosis, lang, paint) if everything else _short(diagnosis, lang, paint)),
        ]
    return "\n".join(lines)


def _full(diagnosis: Diagnosis, lang: str, paint: Paint) -> Iterator[str]:
    labels = _LABELS[lang]
    yield _head(diagnosis, lang, paint)
    if diagnosis.role in {"cascade", "teardown", "benign"}:
        yield f"  {labels[diagnosis.role]}"
    rows = [(labels["cause"], diagnosis.cause)]
    if diagnosis.subject:
        rows.append(
            (
                labels["where"],
                ", ".join(f"{labels[name]} {value}" for name, value in diagnosis.subject.items()),
            )
        )
    for name, value in rows:
        yield _row(name, value, paint)
    for number, line in enumerate(diagnosis.evidence):
        yield _row(
            labels["evidence"] if number == 0 else "", f"{line.source}:{line.line}{OURS}{line.text}", paint
        )
    if diagnosis.sightings > len(diagnosis.evidence) > 0:
        yield _row("", f"+{diagnosis.sightings - len(diagnosis.evidence)} {labels['more']}", paint)
    yield _row(labels["fix"], diagnosis.fix, paint)
    if diagnosis.kind != "unknown":
        yield _row(labels["retry"], labels[diagnosis.retry], paint)
    if diagnosis.exclude:
        yield _row(labels["exclude"], diagnosis.exclude, paint)


def _short(diagnosis: Diagnosis, lang: str, paint: Paint) -> Iterator[str]:
    yield _head(diagnosis, lang, paint)
    yield _row(_LABELS[lang]["cause"], diagnosis.cause, paint)
    for line in diagnosis.evidence[:1]:
        yield _row(_LABELS[lang]["evidence"], f"{line.source}:{line.line}{OURS}{line.text}", paint)


def _head(diagnosis: Diagnosis, lang: str, paint: Paint) -> str:
    name = (
        diagnosis.mode
        if diagnosis.mode == diagnosis.kind
        else f"{diagnosis.kind}  {diagnosis.mode.partition('/')[2]}"
    )
    sure = f"  {_LABELS[lang]['sure']} {diagnosis.confidence:.0%}" if diagnosis.kind != "unknown" else ""
    return paint(name, "1;31") + sure


def _row(name: str, value: str, paint: Paint) -> str:
    wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in name)
    return f"  {paint(name, '1')}{' ' * max(2, 10 - wide)}{value}"
