"""Find the catalog's GPU for a free-form name, by rules on its tokens (model, form, memory), not by spellings.

`NVIDIA A100-SXM4-80GB (400W)`, `a100-80g`, Slurm's `gres/gpu:a100` and `RTX 4090 x2` all follow the same rules.
Text in brackets first only selects the form and memory of a model; it names the model if the rest does not.
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
_MIG_SLICE = re.compile(r"(?:\d+c\.)?\d+g\.\d+gb(?:\.\w+)*")
# Words that mark another product of the same number, or a part of one: a 4080 Super is no 4080, a MIG slice no GPU.
_OTHER_PRODUCT = frozenset({
    "ti", "super", "d", "max", "mobile", "laptop", "xt", "xtx", "pro", "ada", "blackwell", "se", "le", "mig", "quadro",
    "titan", "ultra", "duo",
})  # fmt: skip
# 184 GiB and 192 GB are both a 180 GB B200: vendors and drivers count reserved memory differently
_CLOSE = 0.1


@dataclass(frozen=True, slots=True)
class GpuVariant:
    """The features of one catalog row. Rows of one model are in order: the model name alone means the first."""

    name: str
    models: tuple[frozenset[str], ...]  # alternatives; all tokens of one must be present
    form: str
    memory_gb: tuple[float, ...]  # memory sizes that names use for it


def choose(text: str, kinds: Iterable[GpuVariant]) -> str | None:
    """Return the name of the row for which a text stands, such as `NVIDIA H100 80GB HBM3`.

    None if there is none, or the text fits two models or a MIG slice. A model outside brackets comes before one inside.
    """
    candidates = list(kinds)
    slug = "-".join(re.findall(r"[a-z0-9]+", text.lower()))
    if any(kind.name == slug for kind in candidates):
        return slug
    text = re.sub(r"[®™]|\((?:r|tm)\)", " ", text, flags=re.IGNORECASE)
    outside = _tokens(_BRACKETS.sub(" ", text))
    inside = _tokens(" ".join(_BRACKETS.findall(text)))
    model = _model(outside, candidates) or _model(inside, candidates)
    if model is None:
        return None
    family = [kind for kind in candidates if model in kind.models]
    return _choose_kind(family, [*outside, *inside], model)


def _tokens(text: str) -> list[str]:
    normalized_text = text.lower().replace("_", "-")
    normalized_text = _COUNT_BEFORE.sub(" ", normalized_text)
    for pattern, replacement in (
        (_COUNT_AFTER, " "),
        (_SPLIT_UNIT, r"\1"),
        (_LOOSE_NUMBER, r"\1\2"),
        (_GLUED_BRAND, r"\1 "),
        (_GLUED_SUFFIX, r"\1 \2"),
    ):
        normalized_text = pattern.sub(replacement, normalized_text)
    return re.findall(r"[a-z0-9.]+", normalized_text)


def _model(tokens: list[str], candidates: list[GpuVariant]) -> frozenset[str] | None:
    """Return the matching model with most tokens; None if there is none, or the other tokens mark another product."""
    token_set = set(tokens)
    fitting = {model for kind in candidates for model in kind.models if model <= token_set}
    if not fitting:
        return None
    best = max(fitting, key=len)
    family = {token for kind in candidates if best in kind.models for model in kind.models for token in model}
    if any(not model <= family for model in fitting):
        return None
    extra_tokens = token_set - family
    if any(
        _MIG_SLICE.fullmatch(token) for token in extra_tokens
    ) or extra_tokens & _OTHER_PRODUCT - _optional_tokens(best):
        return None
    return best


def _optional_tokens(model: frozenset[str]) -> frozenset[str]:
    """Return product words that are redundant for the model, so that they do not mark another product."""
    return (
        frozenset({"blackwell"})
        if model & {"b200", "b300", "gb200", "gb300", "5090", "6000"}
        else frozenset()
    )


def _choose_kind(family: list[GpuVariant], tokens: list[str], model: frozenset[str]) -> str | None:
    extra_tokens = [token for token in tokens if token not in model]
    forms = {re.sub(r"\d", "", token) for token in extra_tokens if _FORM.fullmatch(token)}
    fitting = [kind for kind in family if _has_form(kind, forms, family)]
    figures = [float(token) for token in map(_memory_of, extra_tokens) if token]
    if figures:
        close = [
            kind for kind in fitting if any(_matches_memory(figure, kind.memory_gb) for figure in figures)
        ]
        size_tokens = [token for token in extra_tokens if re.fullmatch(r"\d+g(i?b)?", token)]
        fitting = close if close or size_tokens else fitting
    return fitting[0].name if fitting else None


def _memory_of(token: str) -> str | None:
    match = _MEMORY.fullmatch(token)
    return match[1] if match else None


def _has_form(kind: GpuVariant, forms: set[str], family: list[GpuVariant]) -> bool:
    requested_forms = {"pcie" if form == "pci" else form for form in forms}
    if not requested_forms or kind.form in requested_forms:
        return True
    family_forms = {member.form for member in family}
    # A superchip or NVL card has no other form that the text could mean.
    return not requested_forms & family_forms and kind.form in {"superchip", "nvl"}


def _matches_memory(figure: float, memory_gb: tuple[float, ...]) -> bool:
    return any(abs(figure - size_gb) <= _CLOSE * size_gb for size_gb in memory_gb)
