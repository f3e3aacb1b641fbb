"""Reference pages of the failure modes: one for each class and language."""

from __future__ import annotations

import re

from clusterwright.diagnose.mode import CLASSES, Mode, Signature, mode, tables
from clusterwright.i18n import LANGUAGES, N_, _, current_language, in_language

_ROLES = {
    "root": N_("a cause"), "cascade": N_("a consequence of a failure elsewhere"),
    "teardown": N_("printed when a run is stopped"), "benign": N_("harmless"),
}  # fmt: skip
_RETRIES = {
    "no": N_("no: the job would fail again"), "yes": N_("yes, unchanged"), "elsewhere": N_("yes, on other hosts"),
    "fixed": N_("yes, once the cause is fixed"),
}  # fmt: skip
NAMES = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")  # `{path}` in a cause; not the shell's `${HOME}`


def pages() -> dict[str, str]:
    """Return texts by file name: in each language a page for each class with modes, and an index of the classes."""
    all_modes = [mode(name, table) for name, table in tables().items()]
    by_class = {kind: [one for one in all_modes if one.kind == kind] for kind in CLASSES}
    modes_by_class = {kind: modes for kind, modes in by_class.items() if modes}
    texts = {}
    for lang in LANGUAGES:
        with in_language(lang):
            texts[f"index{_suffix()}"] = _index(modes_by_class)
            texts |= {
                f"{kind}{_suffix()}": _class_page(kind, modes) for kind, modes in modes_by_class.items()
            }
    return texts


def _suffix() -> str:
    return ".zh-CN.md" if current_language() == "zh" else ".md"


def page_of(name: str) -> str:
    """Return the section of one failure mode as a page of its own.

    Raises:
        KeyError: there is no mode of that name.
    """
    return f"# {name}\n{_mode(mode(name, tables()[name])).partition(chr(10))[2]}"


def _index(modes_by_class: dict[str, list[Mode]]) -> str:
    head = f"# {_('Failure modes')}\n\n{_('Failure modes that `wright why` knows, by class.')}\n\n"
    head += f"| {_('Class')} | {_('Failure modes')} |\n| --- | --- |\n"
    return head + "".join(
        f"| [{kind}]({kind}{_suffix()}) | {len(modes)} |\n" for kind, modes in modes_by_class.items()
    )


def _class_page(kind: str, modes: list[Mode]) -> str:
    return f"# {kind}\n" + "".join(f"\n{_mode(failure_mode)}" for failure_mode in modes)


def _mode(failure_mode: Mode) -> str:
    rows = [
        (_("Cause"), _in_italics(_(failure_mode.cause))),
        (_("Fix"), _in_italics(_(failure_mode.fix))),
        (_("Role"), _(_ROLES[failure_mode.role])),
        (_("Retry"), _(_RETRIES[failure_mode.retry])),
        (_("Exclude"), _("the host, until the host is repaired") if failure_mode.exclude else ""),
    ]
    lines = [f"## {failure_mode.id.partition('/')[2]}", ""]
    lines += [f"- **{name}**: {value}" for name, value in rows if value]
    lines += [f"- **{_('Signatures')}**:", *(f"  - {_signature(one)}" for one in failure_mode.signatures)]
    for name, witnesses in (
        (_("More probable with"), failure_mode.confirmed_by),
        (_("Ruled out by"), failure_mode.ruled_out_by),
    ):
        if witnesses:
            texts = ", ".join(witness.mode or _code(witness.has) for witness in witnesses)
            lines.append(f"- **{name}**: {texts}")
    if failure_mode.follows:
        named = (_("any other known failure") if one == "*" else one for one in failure_mode.follows)
        lines.append(f"- **{_('May be a consequence of')}**: {', '.join(named)}")
    lines.append(f"- **{_('Sources')}**: {', '.join(_source(source) for source in failure_mode.sources)}")
    return "\n".join(lines) + "\n"


def _signature(signature: Signature) -> str:
    parts = [_code(signature.has)]
    parts += [_code(signature.like)] if signature.like else []
    parts += [_("in {kind}", kind=signature.kind)] if signature.kind else []
    near = " / ".join(_code(text) for text in signature.near)
    parts += [_("with a line nearby that has {texts}", texts=near)] if near else []
    return ", ".join(parts)


def _in_italics(text: str) -> str:
    """Return a text with its `{name}` fields in italics."""
    return NAMES.sub(lambda name: f"*{name[1]}*", text)


def _code(text: str) -> str:
    """Return the text as Markdown code, with a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"


def _source(text: str) -> str:
    return f"<{text}>" if text.startswith(("http://", "https://")) else text
