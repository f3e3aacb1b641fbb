"""The pages of the reference that are made of the modes: one for each class and language."""

from __future__ import annotations

import re

from clusterwright.diagnose.mode import CLASSES, Mode, Signature, mode, tables
from clusterwright.i18n import _, in_language

_ANNOTATIONS = {
    "en": {
        "title": "Failure modes", "class": "Class", "modes": "modes", "cause": "Cause", "fix": "Fix", "role": "Role",
        "retry": "Retry", "exclude": "Exclude", "known by": "Known by", "surer": "Surer with", "not": "Rather not with",
        "sources": "Sources", "near": "with, near it,", "in": "in", "follows": "Follows from, if there",
        "anything": "whatever else is known", "the host": "the host, until it is repaired",
        "about": "What `wright why` knows, by class.",
        "root": "a cause", "cascade": "follows from a failure elsewhere",
        "teardown": "written when a run is stopped", "benign": "harmless",
        "no": "no: fails again", "yes": "yes: as it is", "elsewhere": "yes: on other hosts",
        "fixed": "yes: once fixed",
    },
    "zh": {
        "title": "故障模式", "class": "类别", "modes": "种", "cause": "原因", "fix": "处理", "role": "角色",
        "retry": "重试", "exclude": "排除", "known by": "特征", "surer": "佐证", "not": "反证",
        "sources": "来源", "near": "且附近有", "in": "见于", "follows": "若有下列之一，则为其后果",
        "anything": "任何其他已知故障", "the host": "该主机，修复前不再分配",
        "about": "`wright why` 所知的故障，按类别排列。",
        "root": "根因", "cascade": "别处故障的后果", "teardown": "作业停止时的输出", "benign": "无害",
        "no": "否：会再次失败", "yes": "是：原样重试", "elsewhere": "是：换其他主机", "fixed": "是：处理之后",
    },
}  # fmt: skip
_SUFFIX = {"en": ".md", "zh": ".zh-CN.md"}
NAMES = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")  # `{path}` in a cause; `${HOME}` is the shell's


def pages() -> dict[str, str]:
    """Text by name of file: a page for each class that has modes, and one that lists the classes; per language."""
    all_modes = [mode(name, table) for name, table in tables().items()]
    texts = {}
    for lang, suffix in _SUFFIX.items():
        by_class = {
            kind: [failure_mode for failure_mode in all_modes if failure_mode.kind == kind]
            for kind in CLASSES
        }
        modes_by_class = {kind: modes for kind, modes in by_class.items() if modes}
        texts[f"index{suffix}"] = _index(modes_by_class, lang)
        texts |= {f"{kind}{suffix}": _class_page(kind, modes, lang) for kind, modes in modes_by_class.items()}
    return texts


def page_of(name: str, lang: str) -> str:
    """What is known of one mode, by its id.

    Raises:
        KeyError: there is none of that name.
    """
    _, _, body = _mode(mode(name, tables()[name]), lang).partition("\n")
    return f"# {name}\n{body}"


def _index(modes_by_class: dict[str, list[Mode]], lang: str) -> str:
    labels = _ANNOTATIONS[lang]
    head = f"# {labels['title']}\n\n{labels['about']}\n\n| {labels['class']} | {labels['modes']} |\n| --- | --- |\n"
    return head + "".join(
        f"| [{kind}]({kind}{_SUFFIX[lang]}) | {len(modes)} |\n" for kind, modes in modes_by_class.items()
    )


def _class_page(kind: str, modes: list[Mode], lang: str) -> str:
    return f"# {kind}\n" + "".join(f"\n{_mode(failure_mode, lang)}" for failure_mode in modes)


def _mode(failure_mode: Mode, lang: str) -> str:
    labels = _ANNOTATIONS[lang]
    with in_language("zh" if lang == "zh" else "en"):
        cause, fix = _(failure_mode.cause), _(failure_mode.fix)
    rows = [
        (labels["cause"], _spoken(cause)),
        (labels["fix"], _spoken(fix)),
        (labels["role"], labels[failure_mode.role]),
        (labels["retry"], labels[failure_mode.retry]),
        (labels["exclude"], labels["the host"] if failure_mode.exclude else ""),
    ]
    lines = [
        f"## {failure_mode.id.partition('/')[2]}",
        "",
        *(f"- **{name}**: {value}" for name, value in rows if value),
    ]
    lines += [
        f"- **{labels['known by']}**:",
        *(f"  - {_signature(signature, labels)}" for signature in failure_mode.signatures),
    ]
    for name, witnesses in (
        (labels["surer"], failure_mode.confirmed_by),
        (labels["not"], failure_mode.ruled_out_by),
    ):
        if witnesses:
            lines.append(
                f"- **{name}**: {', '.join(witness.mode or _code(witness.has) for witness in witnesses)}"
            )
    if failure_mode.follows:
        named = (labels["anything"] if origin == "*" else origin for origin in failure_mode.follows)
        lines.append(f"- **{labels['follows']}**: {', '.join(named)}")
    lines.append(
        f"- **{labels['sources']}**: {', '.join(_source(source) for source in failure_mode.sources)}"
    )
    return "\n".join(lines) + "\n"


def _signature(signature: Signature, labels: dict[str, str]) -> str:
    parts = [_code(signature.has)]
    parts += [_code(signature.like)] if signature.like else []
    parts += [f"{labels['in']} {signature.kind}"] if signature.kind else []
    parts += (
        [f"{labels['near']} {' / '.join(_code(text) for text in signature.near)}"] if signature.near else []
    )
    return ", ".join(parts)


def _spoken(text: str) -> str:
    """The names that a line gives are shown as what they are."""
    return NAMES.sub(lambda name: f"*{name[1]}*", text)


def _code(text: str) -> str:
    """As code, whatever signs are in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"


def _source(text: str) -> str:
    return f"<{text}>" if text.startswith(("http://", "https://")) else text
