"""Which GPU a text means, by rules on its tokens: model, form, memory; never by a table of spellings.

`NVIDIA A100-SXM4-80GB (400W)`, `a100-80g`, Slurm's `gres/gpu:a100` and `RTX 4090 x2` are all read the same way.
What is in brackets only helps to choose between the forms of a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_GLUED_BRAND = re.compile(r"\b(rtx|gtx|geforce|quadro|tesla|nvidia|instinct|radeon)(?=[a-z]?\d)")
_LOOSE_NUMBER = re.compile(r"\b(gaudi|tpu|trainium|mi)[\s_-]+(v?\d)")
_GLUED_SUFFIX = re.compile(r"\b(\d{4})(ti|d|ada)\b")
_COUNT_BEFORE = re.compile(r"\b\d+\s*x\s*(?=[a-z])")
_COUNT_AFTER = re.compile(r"(?<=\d)x\d+\b|\bx\d+\b")
_SPLIT_UNIT = re.compile(r"(\d)\s+(?=gi?b?\b)")
_FORM = re.compile(r"sxm\d?|pcie|pci|nvl|oam")
_MEMORY = re.compile(r"(\d+)(?:g|gb|gib)?")
_MIG_SLICE = re.compile(r"\d+g\.\d+gb")
# Words that name another product of the same number, or a part of one: a 4080 Super is no 4080, a MIG slice no GPU.
_OTHER_PRODUCT = frozenset({
    "ti", "super", "d", "max", "mobile", "laptop", "xt", "xtx", "pro", "ada", "blackwell", "se", "le", "mig", "quadro",
    "titan", "ultra", "duo",
})  # fmt: skip
# 184 GiB and 192 GB are both a 180 GB B200: vendors and drivers count reserved memory differently
_CLOSE = 0.1


@dataclass(frozen=True, slots=True)
class Kind:
    """What tells one row from another. Rows of one model are in order: the first is meant by the model alone."""

    name: str
    models: tuple[frozenset[str], ...]  # alternatives; all tokens of one must be there
    form: str
    memory_gb: tuple[float, ...]  # figures that stand for its memory in names


def choose(text: str, kinds: Iterable[Kind]) -> str | None:
    """The name of the one that is meant; None if none is, or the text fits two models."""
    known = list(kinds)
    slug = "-".join(re.findall(r"[a-z0-9]+", text.lower()))
    if any(kind.name == slug for kind in known):
        return slug
    text = re.sub(r"[®™]|\((?:r|tm)\)", " ", text, flags=re.IGNORECASE)
    outside = _tokens(_BRACKETS.sub(" ", text))
    inside = _tokens(" ".join(_BRACKETS.findall(text)))
    model = _model(outside, known) or _model(inside, known)
    if model is None:
        return None
    family = [kind for kind in known if model in kind.models]
    return _one_of(family, [*outside, *inside], model)


def _tokens(text: str) -> list[str]:
    plain = text.lower().replace("_", "-")
    plain = _COUNT_BEFORE.sub(" ", plain)
    for pattern, with_what in (
        (_COUNT_AFTER, " "),
        (_SPLIT_UNIT, r"\1"),
        (_LOOSE_NUMBER, r"\1\2"),
        (_GLUED_BRAND, r"\1 "),
        (_GLUED_SUFFIX, r"\1 \2"),
    ):
        plain = pattern.sub(with_what, plain)
    return re.findall(r"[a-z0-9.]+", plain)


def _model(tokens: list[str], known: list[Kind]) -> frozenset[str] | None:
    """The model with most tokens in the text, if the rest of the text names no other product."""
    there = set(tokens)
    fitting = {model for kind in known for model in kind.models if model <= there}
    if not fitting:
        return None
    best = max(fitting, key=len)
    family = {word for kind in known if best in kind.models for model in kind.models for word in model}
    if any(not model <= family for model in fitting):
        return None
    rest = there - family
    if any(_MIG_SLICE.fullmatch(token) for token in rest) or rest & _OTHER_PRODUCT - _spare_words(best):
        return None
    return best


def _spare_words(model: frozenset[str]) -> frozenset[str]:
    """Words that may stand beside a model that does not need them to be told."""
    return (
        frozenset({"blackwell"})
        if model & {"b200", "b300", "gb200", "gb300", "5090", "6000"}
        else frozenset()
    )


def _one_of(family: list[Kind], tokens: list[str], model: frozenset[str]) -> str | None:
    rest = [token for token in tokens if token not in model]
    forms = {re.sub(r"\d", "", token) for token in rest if _FORM.fullmatch(token)}
    fitting = [kind for kind in family if _has_form(kind, forms, family)]
    figures = [float(token) for token in map(_memory_of, rest) if token]
    if figures:
        close = [kind for kind in fitting if any(_near(figure, kind.memory_gb) for figure in figures)]
        told = [token for token in rest if re.fullmatch(r"\d+g(i?b)?", token)]
        fitting = close if close or told else fitting
    return fitting[0].name if fitting else None


def _memory_of(token: str) -> str | None:
    match = _MEMORY.fullmatch(token)
    return match[1] if match else None


def _has_form(kind: Kind, forms: set[str], family: list[Kind]) -> bool:
    wanted = {"pcie" if form == "pci" else form for form in forms}
    if not wanted or kind.form in wanted:
        return True
    others = {each.form for each in family}
    # A superchip or an NVL card has no other form that the word could mean.
    return not wanted & others and kind.form in {"superchip", "nvl"}


def _near(figure: float, memory_gb: tuple[float, ...]) -> bool:
    return any(abs(figure - each) <= _CLOSE * each for each in memory_gb)
