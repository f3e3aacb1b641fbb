"""The pages of the reference that are made of the modes: one for each class and language."""

from __future__ import annotations

import re

from clusterwright.diagnose.mode import CLASSES, Mode, Signature, mode, tables

_WORDS = {
    "en": {
        "title": "Failure modes", "class": "Class", "modes": "modes", "cause": "Cause", "mend": "Fix", "role": "Role",
        "retry": "Retry", "exclude": "Exclude", "known by": "Known by", "surer": "Surer with", "not": "Rather not with",
        "sources": "Sources", "near": "with, near it,", "in": "in", "follows": "Follows from, if there",
        "anything": "whatever else is known", "the host": "the host, until it is repaired",
        "about": "What `wright why` knows, by class.",
        "root": "a cause", "cascade": "follows from a failure elsewhere",
        "teardown": "written when a run is stopped", "benign": "harmless",
        "no": "no: fails again", "yes": "yes: as it is", "elsewhere": "yes: on other hosts",
        "mended": "yes: once fixed",
    },
    "zh": {
        "title": "故障模式", "class": "类别", "modes": "种", "cause": "原因", "mend": "处理", "role": "角色",
        "retry": "重试", "exclude": "排除", "known by": "特征", "surer": "佐证", "not": "反证",
        "sources": "来源", "near": "且附近有", "in": "见于", "follows": "若有下列之一，则为其后果",
        "anything": "任何其他已知故障", "the host": "该主机，修复前不再分配",
        "about": "`wright why` 所知的故障，按类别排列。",
        "root": "根因", "cascade": "别处故障的后果", "teardown": "作业停止时的输出", "benign": "无害",
        "no": "否：会再次失败", "yes": "是：原样重试", "elsewhere": "是：换其他主机", "mended": "是：处理之后",
    },
}  # fmt: skip
_SUFFIX = {"en": ".md", "zh": ".zh-CN.md"}
NAMES = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")  # `{path}` in a cause; `${HOME}` is the shell's


def pages() -> dict[str, str]:
    """Text by name of file: a page for each class that has modes, and one that lists the classes; per language."""
    known = [mode(name, table) for name, table in tables().items()]
    made = {}
    for lang, suffix in _SUFFIX.items():
        by_class = {kind: [each for each in known if each.kind == kind] for kind in CLASSES}
        there = {kind: modes for kind, modes in by_class.items() if modes}
        made[f"index{suffix}"] = _index(there, lang)
        made |= {f"{kind}{suffix}": _page(kind, modes, lang) for kind, modes in there.items()}
    return made


def page_of(name: str, lang: str) -> str:
    """What is known of one mode, by its id.

    Raises:
        KeyError: there is none of that name.
    """
    _, _, rest = _mode(mode(name, tables()[name]), lang).partition("\n")
    return f"# {name}\n{rest}"


def _index(there: dict[str, list[Mode]], lang: str) -> str:
    words = _WORDS[lang]
    head = (
        f"# {words['title']}\n\n{words['about']}\n\n| {words['class']} | {words['modes']} |\n| --- | --- |\n"
    )
    return head + "".join(
        f"| [{kind}]({kind}{_SUFFIX[lang]}) | {len(modes)} |\n" for kind, modes in there.items()
    )


def _page(kind: str, modes: list[Mode], lang: str) -> str:
    return f"# {kind}\n" + "".join(f"\n{_mode(each, lang)}" for each in modes)


def _mode(each: Mode, lang: str) -> str:
    words = _WORDS[lang]
    cause, mend = (each.cause, each.mend) if lang == "en" else (each.cause_zh, each.mend_zh)
    rows = [
        (words["cause"], _spoken(cause)),
        (words["mend"], _spoken(mend)),
        (words["role"], words[each.role]),
        (words["retry"], words[each.retry]),
        (words["exclude"], words["the host"] if each.exclude else ""),
    ]
    lines = [
        f"## {each.id.partition('/')[2]}",
        "",
        *(f"- **{name}**: {value}" for name, value in rows if value),
    ]
    lines += [f"- **{words['known by']}**:", *(f"  - {_signature(one, words)}" for one in each.signatures)]
    for name, witnesses in ((words["surer"], each.confirmed_by), (words["not"], each.ruled_out_by)):
        if witnesses:
            lines.append(f"- **{name}**: {', '.join(one.mode or _code(one.has) for one in witnesses)}")
    if each.follows:
        named = (words["anything"] if one == "*" else one for one in each.follows)
        lines.append(f"- **{words['follows']}**: {', '.join(named)}")
    lines.append(f"- **{words['sources']}**: {', '.join(_source(one) for one in each.sources)}")
    return "\n".join(lines) + "\n"


def _signature(each: Signature, words: dict[str, str]) -> str:
    parts = [_code(each.has)]
    parts += [_code(each.like)] if each.like else []
    parts += [f"{words['in']} {each.kind}"] if each.kind else []
    parts += [f"{words['near']} {' / '.join(_code(one) for one in each.near)}"] if each.near else []
    return ", ".join(parts)


def _spoken(text: str) -> str:
    """The names that a line gives are shown as what they are."""
    return NAMES.sub(lambda name: f"*{name[1]}*", text)


def _code(text: str) -> str:
    """As code, whatever signs are in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{mark}{space}{text}{space}{mark}"


def _source(text: str) -> str:
    return f"<{text}>" if text.startswith(("http://", "https://")) else text
