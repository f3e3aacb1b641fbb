"""A diagnosis as a person reads it: the cause, where, the lines, what to do, and whether to try again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.reading.quoted import OURS

_WORDS = {
    "en": {
        "cause": "cause",
        "where": "where",
        "evidence": "evidence",
        "mend": "mend",
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
        "mended": "yes, once it is mended",
    },
    "zh": {
        "cause": "原因",
        "where": "位置",
        "evidence": "证据",
        "mend": "处理",
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
        "mended": "是，处理之后",
    },
}
_SHOWN = 3  # diagnoses, without --all

Paint = Callable[[str, str], str]


def plain(text: str, _style: str) -> str:
    """No colour."""
    return text


def coloured(text: str, style: str) -> str:
    """A terminal's own codes."""
    return f"\x1b[{style}m{text}\x1b[0m"


def shown(diagnoses: list[Diagnosis], lang: str, *, everything: bool = False, paint: Paint = plain) -> str:
    """All of it as text; the likeliest in full, the next in short."""
    words = _WORDS[lang]
    if not diagnoses:
        return words["nothing"]
    lines = [*_full(diagnoses[0], lang, paint)]
    rest = diagnoses[1:] if everything else [each for each in diagnoses[1:_SHOWN] if each.role == "root"]
    for each in rest:
        lines += [
            "",
            paint(f"{words['also']}:", "2"),
            *(_full(each, lang, paint) if everything else _short(each, lang, paint)),
        ]
    return "\n".join(lines)


def _full(each: Diagnosis, lang: str, paint: Paint) -> Iterator[str]:
    words = _WORDS[lang]
    yield _head(each, lang, paint)
    if each.role in {"cascade", "teardown", "benign"}:
        yield f"  {words[each.role]}"
    rows = [(words["cause"], each.cause)]
    if each.subject:
        rows.append(
            (words["where"], ", ".join(f"{words[name]} {value}" for name, value in each.subject.items()))
        )
    for name, value in rows:
        yield _row(name, value, paint)
    for number, line in enumerate(each.evidence):
        yield _row(
            words["evidence"] if number == 0 else "", f"{line.source}:{line.line}{OURS}{line.text}", paint
        )
    if each.sightings > len(each.evidence) > 0:
        yield _row("", f"+{each.sightings - len(each.evidence)} {words['more']}", paint)
    yield _row(words["mend"], each.mend, paint)
    if each.kind != "unknown":
        yield _row(words["retry"], words[each.retry], paint)
    if each.exclude:
        yield _row(words["exclude"], each.exclude, paint)


def _short(each: Diagnosis, lang: str, paint: Paint) -> Iterator[str]:
    yield _head(each, lang, paint)
    yield _row(_WORDS[lang]["cause"], each.cause, paint)
    for line in each.evidence[:1]:
        yield _row(_WORDS[lang]["evidence"], f"{line.source}:{line.line}{OURS}{line.text}", paint)


def _head(each: Diagnosis, lang: str, paint: Paint) -> str:
    name = each.mode if each.mode == each.kind else f"{each.kind}  {each.mode.partition('/')[2]}"
    sure = f"  {_WORDS[lang]['sure']} {each.confidence:.0%}" if each.kind != "unknown" else ""
    return paint(name, "1;31") + sure


def _row(name: str, value: str, paint: Paint) -> str:
    wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in name)
    return f"  {paint(name, '1')}{' ' * max(2, 10 - wide)}{value}"
