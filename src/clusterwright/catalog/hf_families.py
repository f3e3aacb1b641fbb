"""The config keys and defaults of each `model_type` of Hugging Face.

Source: the configuration classes of https://github.com/huggingface/transformers (a class's defaults apply where a
file lacks a key, since `save_pretrained` does not write all of them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Keys: TypeAlias = dict[str, tuple[str, ...]]  # our field -> their keys, of which the first present counts

_WIDTHS: Keys = {
    "layers": ("num_hidden_layers",),
    "hidden": ("hidden_size",),
    "heads": ("num_attention_heads",),
    "ffn": ("intermediate_size",),
    "vocab": ("vocab_size",),
}
_GPT2: Keys = {
    "layers": ("n_layer", "num_hidden_layers"),
    "hidden": ("n_embd", "hidden_size"),
    "heads": ("n_head", "num_attention_heads"),
    "vocab": ("vocab_size",),
}


@dataclass(frozen=True, slots=True)
class Family:
    """The keys and defaults of one `model_type`."""

    needs: Keys  # required keys
    may: Keys = field(default_factory=dict)  # optional keys, 0 if missing
    gated: bool = True
    tied: bool = False  # default if the file has no value
    biases: bool = False
    causal: bool = True
    positions: int = 0  # added to the length of the learned position table; -1: it has none
    ffn_of_hidden: int = 0  # default: ffn is hidden times this
    window_every: int = 0  # default of Architecture.window_every
    mla: bool = False


_KV: Keys = {"kv_heads": ("num_key_value_heads",), "head_dim": ("head_dim",)}
_WINDOW: Keys = {"window": ("sliding_window",)}
_LEARNED: Keys = {"learned_positions": ("max_position_embeddings",)}
_LLAMA = Family(_WIDTHS, _KV, positions=-1)
_MISTRAL = Family(_WIDTHS, _KV | _WINDOW, positions=-1)
_EXPERTS: Keys = {"experts_per_token": ("num_experts_per_tok", "experts_per_token")}
_LOCAL: Keys = _EXPERTS | {"experts": ("num_local_experts", "num_experts")}
_QWEN_MOE: Keys = _EXPERTS | {"experts": ("num_experts",), "expert_ffn": ("moe_intermediate_size",)}
_DEEPSEEK: Keys = {
    "kv_lora_rank": ("kv_lora_rank",),
    "rope_head_dim": ("qk_rope_head_dim",),
    "head_dim": ("qk_nope_head_dim",),
    "v_head_dim": ("v_head_dim",),
    "experts": ("n_routed_experts",),
    "expert_ffn": ("moe_intermediate_size",),
    "dense_layers": ("first_k_dense_replace",),
}
_DEEPSEEK_MAY: Keys = {
    "q_lora_rank": ("q_lora_rank",),
    "mtp_layers": ("num_nextn_predict_layers",),
}
_MLA = Family(_WIDTHS | _EXPERTS | _DEEPSEEK, _DEEPSEEK_MAY, positions=-1, mla=True)
_MIXER: Keys = {
    "mamba_heads": ("mamba_num_heads",),
    "mamba_head_dim": ("mamba_head_dim",),
    "mamba_state": ("ssm_state_size",),
}
_HYBRID_MAY: Keys = {
    "ffn": ("intermediate_size",),
    "experts": ("n_routed_experts",),
    "experts_per_token": ("num_experts_per_tok",),
    "expert_ffn": ("moe_intermediate_size",),
    "shared_ffn": ("moe_shared_expert_intermediate_size",),
    "expert_width": ("moe_latent_size",),
    "mtp_layers": ("num_nextn_predict_layers",),
}
_BERT = Family(_WIDTHS | _LEARNED, gated=False, tied=True, biases=True, causal=False)
_FALCON = Family(
    {key: _WIDTHS[key] for key in ("layers", "hidden", "heads", "vocab")},
    {"ffn": ("ffn_hidden_size",), "head_dim": ("head_dim",)},
    gated=False,
    tied=True,
    positions=-1,
    ffn_of_hidden=4,
)
_GPT2_FAMILY = Family(_GPT2 | {"learned_positions": ("n_positions", "n_ctx")}, {"ffn": ("n_inner",)},
                      gated=False, tied=True, biases=True, ffn_of_hidden=4)  # fmt: skip
_OPT = Family(_WIDTHS | _LEARNED | {"ffn": ("ffn_dim",)},
              gated=False, tied=True, biases=True, positions=2)  # fmt: skip
_MPT = Family(
    {"layers": ("n_layers",), "hidden": ("d_model",), "heads": ("n_heads",), "vocab": ("vocab_size",)},
    gated=False, tied=True, positions=-1, ffn_of_hidden=4,
)  # fmt: skip
_VIT = Family(
    {key: _WIDTHS[key] for key in ("layers", "hidden", "heads", "ffn")},
    gated=False,
    tied=True,
    biases=True,
    causal=False,
)

FAMILIES: Mapping[str, Family] = {
    "llama": _LLAMA,
    "granite": _LLAMA,
    "olmo": _LLAMA,
    "olmo2": _LLAMA,
    "internlm2": _LLAMA,
    "qwen3": _LLAMA,
    "mistral": _MISTRAL,
    "ministral": _MISTRAL,
    "phi3": _MISTRAL,
    "qwen2": _LLAMA,
    "gemma": Family(_WIDTHS, _KV, tied=True, positions=-1),
    "gemma2": Family(_WIDTHS, _KV | _WINDOW, tied=True, positions=-1, window_every=2),
    "gemma3_text": Family(_WIDTHS, _KV | _WINDOW, tied=True, positions=-1, window_every=6),
    "cohere": Family(_WIDTHS, _KV, tied=True, positions=-1),
    "nemotron": Family(_WIDTHS, _KV, gated=False, positions=-1),
    "starcoder2": Family(_WIDTHS, _KV | _WINDOW, gated=False, tied=True, biases=True, positions=-1),
    "mixtral": Family(_WIDTHS | _LOCAL, _KV | _WINDOW, positions=-1),
    "qwen2_moe": Family(
        _WIDTHS | _QWEN_MOE, _KV | {"shared_ffn": ("shared_expert_intermediate_size",)}, positions=-1
    ),
    "qwen3_moe": Family(_WIDTHS | _QWEN_MOE, _KV, positions=-1),
    "gpt_oss": Family(_WIDTHS | _LOCAL, _KV | _WINDOW, biases=True, positions=-1, window_every=2),
    "deepseek_v2": _MLA,
    "deepseek_v3": _MLA,
    "kimi_k2": _MLA,
    "glm4_moe": Family(
        _WIDTHS | _EXPERTS | {key: _DEEPSEEK[key] for key in ("experts", "expert_ffn", "dense_layers")},
        _KV | {"mtp_layers": _DEEPSEEK_MAY["mtp_layers"]},
        positions=-1,
    ),
    "nemotron_h": Family(
        {key: _WIDTHS[key] for key in ("hidden", "heads", "vocab")} | _MIXER,
        _KV | _HYBRID_MAY,
        gated=False,
        positions=-1,
    ),
    "gpt2": _GPT2_FAMILY,
    "gpt_bigcode": _GPT2_FAMILY,
    "gptj": Family(_GPT2, {"ffn": ("n_inner",)}, gated=False, positions=-1, ffn_of_hidden=4),
    "gpt_neox": Family(_WIDTHS, gated=False, biases=True, positions=-1),
    "phi": Family(_WIDTHS, _KV, gated=False, biases=True, positions=-1),
    "opt": _OPT,
    "bloom": Family(
        _GPT2 | {"hidden": ("hidden_size", "n_embed", "n_embd")},
        gated=False,
        tied=True,
        biases=True,
        positions=-1,
        ffn_of_hidden=4,
    ),
    "mpt": _MPT,
    "falcon": _FALCON,
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "vit": _VIT,
}
TEXT_OF = {"gemma3": "gemma3_text"}  # models for images and text: only the text part is read
