"""Model architecture of a row: from its cells, then the catalog entry of its name, then the usual shape of its size."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.catalog.models import architectures
from clusterwright.catalog.records import Architecture
from clusterwright.errors import closest_name
from clusterwright.i18n import _
from clusterwright.plan.parameters import count
from clusterwright.plan.predict.cells import LARGEST
from clusterwright.plan.predict.row_text import mentions

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterwright.plan.predict.cells import Cells

_GATED = (
    r"llama|mistral|mixtral|qwen|deepseek|gemma|kimi|ling|internlm|baichuan|yi-|aquila|grok"
    r"|gpt[- ]?oss|palm|phi-?[34]|olmo"
)
_BIASED = r"gpt|bert|bloom|opt|megatron|t5|turing|mt-nlg"
_TIED = r"gpt|bert|bloom|opt|mpt|t5|turing|mt-nlg|megatron|gemma"
_VOCABULARIES = (
    (r"bert", 30522),
    (r"t5", 32128),
    (r"llama-?[_ ]?[34]|llama3", 128256),
    (r"llama|mistral|mixtral", 32000),
    (r"qwen", 151936),
    (r"deepseek-?v?3", 129280),
    (r"deepseek", 102400),
    (r"mpt", 50368),
    (r"bloom", 250880),
    (r"nemotron|gemma", 256000),
)
_GPT_VOCABULARY = 50257  # the byte-pair encoding of GPT-2 (Radford et al. 2019)
_LARGE_VOCABULARY, _LARGE_HIDDEN = 131072, 4096  # of models of 7B and more with an untied head
_PAD = 128  # Megatron-LM pads the vocabulary to a multiple of this times tp (make-vocab-size-divisible-by)
_WIDE = 128  # hidden / layers of GPT-3 175B (12288 / 96), for a model of which only the size is known
_HEAD = 128  # width of a head of GPT-3 175B and LLaMA
_ROUND = 256  # the inner width of gated layers is rounded up to this (LLaMA)
# Widths of latent attention in DeepSeek-V2 and V3 (2405.04434), which other models use too.
_KV_RANK, _Q_RANK, _ROPE, _V = 512, 1536, 64, 128
_MEGATRON_ROUND = 64  # rounded down to this, Megatron-Core's default with --swiglu
_COLUMNS = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")
_TOLERANCE = 0.15  # larger differences between sizes are noted
NO_MODEL = Architecture(
    "unknown", 0, 1, 1, 1, 1, 4, 1
)  # placeholder while the row's other problems are collected


def architecture(
    cells: Cells, named: Callable[[str], Architecture | None], settings: dict[str, str]
) -> Architecture:
    """Return the architecture of a row, with notes on what was inferred; `named` looks a name up in the catalog.

    Columns and flags of the row override the catalog's values. A name that is not in the catalog, without a shape or
    size in the row, gives `NO_MODEL` and adds a problem.
    """
    text = cells.text("model")
    name, catalog_model = _name(text), named(text) if text else None
    if catalog_model:
        model = _of_catalog(cells, catalog_model)
    elif cells.positive("params_b") or cells.integer("hidden"):
        model = _of_size(cells, name)
    else:
        message = _("model `{text}` is not in the catalog, and the row has no shape or size", text=text)
        suggestion = closest_name(text.lower().replace("_", "-"), list(architectures()))
        fix = _("give layers, hidden and heads, or params_b, or add the model to your catalog")
        if suggestion:
            fix = _("did you mean `{suggestion}`? Else {fix}", suggestion=suggestion, fix=fix)
        cells.wrong("predict-unknown-model", message, fix)
        return NO_MODEL
    if mentions(cells, r"w/o mtp|without mtp|no mtp"):
        model = replace(model, mtp_layers=0)
    model = _with_flags(model, settings)
    _compare(cells, model)
    return model


def _name(text: str) -> str:
    """Return the model's name without text in brackets, remarks on reduced layers, and a folder."""
    bare = re.sub(r"\(.*?\)|\[.*?\]", " ", text)
    bare = re.sub(r"\bcut to .*| \d+ layers.*", " ", bare)
    return bare.rsplit("/", 1)[-1].strip()


def _of_catalog(cells: Cells, catalog_model: Architecture) -> Architecture:
    """Return the catalog's architecture with the values of the row's columns in place of its own; blank ones are noted.

    A changed hidden size or number of heads sets the head dimension to their quotient.
    """
    columns = {name: cells.integer(name) for name in _COLUMNS}
    blank = [name for name in _COLUMNS if columns[name] is None]
    if blank:
        cells.note(
            _("{columns} from the catalog's {model}", columns=", ".join(blank), model=catalog_model.name)
        )
    model = replace(
        catalog_model,
        layers=columns["layers"] or catalog_model.layers,
        hidden=columns["hidden"] or catalog_model.hidden,
        heads=columns["heads"] or catalog_model.heads,
        kv_heads=columns["kv_heads"] or catalog_model.kv_heads,
        ffn=columns["ffn"] or catalog_model.ffn,
        vocab=columns["vocab"] or catalog_model.vocab,
    )
    if (model.hidden, model.heads) != (catalog_model.hidden, catalog_model.heads):
        model = replace(model, head_dim=max(1, model.hidden // model.heads))
    return replace(model, dense_layers=min(model.dense_layers, model.layers))


def _of_size(cells: Cells, name: str) -> Architecture:
    """Return a dense architecture from the given columns; blank ones follow the usual rules of the model family.

    The name decides about gating, tied embeddings, biases and causality. An assumed value is noted.
    """
    gated = re.search(_GATED, name, re.IGNORECASE) is not None
    hidden = cells.integer("hidden") or _usual_hidden(cells)
    heads = cells.integer("heads") or _usual_heads(cells, hidden)
    ffn = cells.integer("ffn")
    if ffn is None:
        ffn = -(-(hidden * 8 // 3) // _ROUND) * _ROUND if gated else 4 * hidden
        if "swiglu=True" in cells.text("notes_url"):
            ffn = hidden * 8 // 3 // _MEGATRON_ROUND * _MEGATRON_ROUND
        cells.note(_("no ffn given: assumed {ffn}", ffn=ffn))
    elif not gated and not re.search(_BIASED + "|mpt|nemotron", name, re.IGNORECASE):
        gated = ffn != 4 * hidden
    learned = re.search(r"gpt|bert|opt|megatron", name, re.IGNORECASE) is not None
    return Architecture(
        name=name or "unnamed",
        layers=cells.integer("layers") or _usual_layers(cells, hidden),
        hidden=hidden,
        heads=heads,
        kv_heads=cells.integer("kv_heads") or heads,
        head_dim=max(1, hidden // heads),
        ffn=ffn,
        vocab=cells.integer("vocab") or _usual_vocab(cells, name),
        gated=gated,
        tied=re.search(_TIED, name, re.IGNORECASE) is not None,
        learned_positions=(cells.integer("seq_len") or 0) if learned else 0,
        causal="bert" not in name.lower(),
        biases=re.search(_BIASED, name, re.IGNORECASE) is not None,
    )


def _usual_hidden(cells: Cells) -> int:
    parameters = (cells.positive("params_b") or 1.0) * 1e9
    step = 1024 if parameters > 3e9 else 128
    width: float = (parameters / 12 * _WIDE) ** (1 / 3)
    hidden = max(step, round(width / step) * step)
    cells.note(
        _(
            "no shape given: assumed hidden {hidden}, usual for {billions:g} billion parameters",
            hidden=hidden,
            billions=parameters / 1e9,
        )
    )
    return hidden


def _usual_layers(cells: Cells, hidden: int) -> int:
    stages = cells.integer("pp") or 1
    parameters = (cells.positive("params_b") or 1.0) * 1e9
    layers = min(max(1, round(parameters / (12 * hidden**2) / stages)) * stages, LARGEST["layers"])
    cells.note(_("no layers given: {layers}, from the number of parameters", layers=layers))
    return layers


def _usual_heads(cells: Cells, hidden: int) -> int:
    tp = cells.integer("tp") or 1
    small = [number for number in range(1, math.isqrt(hidden) + 1) if hidden % number == 0]
    divisors = {*small, *(hidden // number for number in small)}
    fitting = sorted(heads for heads in divisors if heads % tp == 0 and heads <= hidden // 32)
    heads = min(fitting or [tp], key=lambda heads: abs(hidden / heads - _HEAD))
    cells.note(_("no heads given: assumed {heads}, each about {width} wide", heads=heads, width=_HEAD))
    return heads


def _usual_vocab(cells: Cells, name: str) -> int:
    tp = cells.integer("tp") or 1
    size = next(
        (size for pattern, size in _VOCABULARIES if re.search(pattern, name, re.IGNORECASE)), _GPT_VOCABULARY
    )
    untied = "untie-embeddings-and-output-weights=True" in cells.text("notes_url")
    if untied and size == _GPT_VOCABULARY and (cells.integer("hidden") or 0) >= _LARGE_HIDDEN:
        size = _LARGE_VOCABULARY
    padded = -(-size // (_PAD * tp)) * _PAD * tp
    cells.note(_("no vocabulary given: assumed {size}", size=padded))
    return padded


def _with_flags(model: Architecture, settings: dict[str, str]) -> Architecture:
    """Return the architecture changed by Megatron's flags: experts, MLA, SwiGLU, biases, untied head, MTP layers."""
    if "num-experts" in settings:
        model = _with_experts(model, settings)
    if settings.get("multi-latent-attention") == "True" and model.attention != "mla":
        model = replace(
            model,
            attention="mla",
            kv_lora_rank=_KV_RANK,
            q_lora_rank=_Q_RANK,
            rope_head_dim=_ROPE,
            v_head_dim=_V,
        )
    return replace(
        model,
        gated=model.gated or settings.get("swiglu") == "True",
        biases=model.biases and settings.get("disable-bias-linear") != "True",
        tied=model.tied and settings.get("untie-embeddings-and-output-weights") != "True",
        mtp_layers=int(settings.get("mtp-num-layers", model.mtp_layers)),
    )


def _with_experts(model: Architecture, settings: dict[str, str]) -> Architecture:
    shared = settings.get("moe-shared-expert-intermediate-size", "")
    return replace(
        model,
        experts=int(settings["num-experts"]),
        experts_per_token=int(settings.get("moe-router-topk", "2")),
        expert_ffn=int(settings.get("moe-ffn-hidden-size", model.ffn)),
        shared_ffn=int(shared) if shared.isdigit() else 0,
        dense_layers=_dense_layers(settings.get("moe-layer-freq", "")),
    )


def _dense_layers(frequency: str) -> int:
    """Parse the number of leading dense layers, 3 of `([0]*3+[1]*11)`; 0 for other texts."""
    match = re.match(r"\(\[0\]\*(\d+)", frequency)
    return int(match[1]) if match else 0


def _compare(cells: Cells, model: Architecture) -> None:
    """Add a note to the row if its number of parameters differs from the shape's by more than 15 %.

    Not for a model that the row calls reduced.
    """
    billions, counted = cells.positive("params_b"), count(model).total / 1e9
    if billions and abs(counted / billions - 1) > _TOLERANCE and not mentions(cells, "cut to|reduced|proxy"):
        cells.note(
            _(
                "the shape has {counted:.3g} billion parameters, the row has {billions:g}",
                counted=counted,
                billions=billions,
            )
        )
