"""Find the catalog's model for a free-form name, by rules on its tokens (family, version, size), not by spellings.

`LLAMA3_70B`, `meta-llama/Meta-Llama-3-70B-Instruct` and `llama3-70b [nemo]` are one model. A token that could mark
another model and belongs to none leads to no match: a wrong shape is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_LAYOUT = re.compile(
    r"\b(?:(?:tp|pp|dp|cp|ep|em?p|etp|vpp?|mbs|gbs|gpus?|nodes?)[\s-]?\d+)+\b"
    r"|\b(?:dgx-)?(?:gb-?|[vahb])\d{3}\b|\bfsdp\d\b"  # and the GPUs it ran on
)
_TOKEN = re.compile(r"\d+x\d+b|\d+b\d(?!\d)|a?\d+(?:\.\d+)?[bmtk](?![a-z])|\d+(?:\.\d+)?|[a-z]+")
# Words that mark a changed model, whose shape is not the catalog's.
_CHANGED = frozenset({"proxy", "cut", "reduced", "layer", "layers", "depth", "pruned", "draft", "toy"})
# Words for the publisher, the way of training or storing, or a recipe: not the shape.
_NEUTRAL = frozenset({
    "meta", "facebook", "google", "openai", "nvidia", "mistralai", "ai", "org", "deepseek", "qwen", "moonshotai", "gpt",
    "microsoft", "mosaicml", "bigscience", "tiiuae", "eleutherai", "community", "hf", "base", "instruct", "chat", "it",
    "pt", "sft", "lora", "qlora", "peft", "pretrain", "pretraining", "training", "train", "release", "sm", "bf", "fp",
    "mxfp", "nvfp", "nemo", "megatron", "maxtext", "paxml", "torchtitan", "fsdp", "ddp", "zero", "uncased", "cased",
    "v", "dense", "moe", "model", "seq", "token", "tokens", "dropless", "tokendrop", "thinking", "only", "flex",
    "alltoall", "allgather", "nightly", "weekly",
})  # fmt: skip
_NEUTRAL_NUMBER = re.compile(r"\d{4}|\d+k|8|16|0\.1")  # a date or a length; bf16, fp8; a first release

_MOE = re.compile(r"moe|a\d.*|\d+x\d+b|oss|kimi|deepseek|mixtral")  # in the names of models with experts


def tokens(text: str) -> frozenset[str]:
    """Split a name into lowercase tokens: words, versions and sizes such as `70b`, `8x7b`, `a22b`.

    GPUs and parallel layouts (`h100`, `tp8`) are left out.
    """
    cleaned_text = _LAYOUT.sub(" ", text.lower().replace("_", "-"))
    parts: list[str] = []
    for token in _TOKEN.findall(cleaned_text):
        if parts and token[0].isdigit() and parts[-1].endswith("v") and parts[-1].isalpha():
            parts[-1] = parts[-1][:-1]
        parts.append(token)
    return frozenset(token for token in parts if token)


def choose(
    text: str, spellings: Mapping[str, Iterable[frozenset[str]]], *, changed: bool = False
) -> str | None:
    """Return the name with most matching tokens, if no other token could mark another model, else None.

    `changed`: also accept names of cut-down models, and return the original model's name.
    """
    outside = tokens(_BRACKETS.sub(" ", text))
    change_tokens = (outside | tokens(" ".join(_BRACKETS.findall(text)))) & _CHANGED
    if change_tokens and not changed:
        return None
    outside -= _CHANGED | ({"to", "of"} if change_tokens else frozenset())
    best, size = None, 0
    for name, alternatives in spellings.items():
        for model_tokens in alternatives:
            if (
                size < len(model_tokens)
                and model_tokens <= outside
                and _is_all(outside - model_tokens, model_tokens, loose=bool(change_tokens))
            ):
                best, size = name, len(model_tokens)
    return best


def _is_all(extra_tokens: frozenset[str], model_tokens: frozenset[str], *, loose: bool) -> bool:
    """True if the extra tokens do not affect the shape; `moe` does, for a dense model.

    `loose` is for names such as `cut to 4 layers`: the numbers describe the change, not the original.
    """
    if "moe" in extra_tokens and not any(_MOE.fullmatch(token) for token in model_tokens):
        return False
    return all(
        token in _NEUTRAL or _NEUTRAL_NUMBER.fullmatch(token) or (loose and token.isdigit())
        for token in extra_tokens
    )
