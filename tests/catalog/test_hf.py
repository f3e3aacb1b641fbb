"""A config.json becomes the architecture that its model has."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import architecture
from clusterwright.catalog.hf import architecture_of, model_of
from clusterwright.errors import WrightError
from clusterwright.plan.parameters import count

# The shape keys of published configs, and the number of parameters (10^9) that their makers or the hub print.
LLAMA3 = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    "max_position_embeddings": 8192,
}  # fmt: skip
CONFIGS = {
    "llama": (LLAMA3, 8.03),
    "mistral": ({
        "model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "sliding_window": 4096,
        "max_position_embeddings": 32768,
    }, 7.242),
    "mixtral": ({
        "model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "sliding_window": None,
        "num_local_experts": 8, "num_experts_per_tok": 2,
    }, 46.7),
    "qwen2": ({
        "model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
        "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936, "tie_word_embeddings": True,
        "use_sliding_window": False, "sliding_window": 32768,
    }, 0.494),
    "qwen2_moe": ({
        "model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
        "num_key_value_heads": 16, "intermediate_size": 5632, "vocab_size": 151936, "num_experts": 60,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632,
    }, 14.3),
    "qwen3": ({
        "model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
        "tie_word_embeddings": False,
    }, 8.19),
    "qwen3_moe": ({
        "model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144, "vocab_size": 151936,
        "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "mlp_only_layers": [],
    }, 30.5),
    "gpt2": ({
        "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257,
        "n_inner": None,
    }, 0.1244),
    "gpt_bigcode": ({
        "model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_positions": 8192,
        "n_inner": 24576, "vocab_size": 49152, "multi_query": True,
    }, 15.52),
    "gpt_neox": ({
        "model_type": "gpt_neox", "hidden_size": 6144, "num_hidden_layers": 44, "num_attention_heads": 64,
        "intermediate_size": 24576, "vocab_size": 50432, "tie_word_embeddings": False,
    }, 20.55),
    "opt": ({
        "model_type": "opt", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "ffn_dim": 16384, "max_position_embeddings": 2048, "vocab_size": 50272,
    }, 6.66),
    "bloom": ({
        "model_type": "bloom", "hidden_size": 14336, "n_layer": 70, "num_attention_heads": 112, "vocab_size": 250880,
    }, 176.25),
    "bert": ({
        "model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
        "intermediate_size": 4096, "max_position_embeddings": 512, "vocab_size": 30522,
    }, 0.335),
    "roberta": ({
        "model_type": "roberta", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "max_position_embeddings": 514, "vocab_size": 50265,
    }, 0.1246),
    "falcon": ({
        "model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
        "num_kv_heads": 8, "new_decoder_architecture": True, "multi_query": True, "bias": False, "vocab_size": 65024,
    }, 41.3),
    "gemma": ({
        "model_type": "gemma", "hidden_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 16, "head_dim": 256, "intermediate_size": 24576, "vocab_size": 256000,
    }, 8.54),
    "gemma2": ({
        "model_type": "gemma2", "hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 14336, "vocab_size": 256000,
        "sliding_window": 4096, "max_position_embeddings": 8192,
    }, 9.24),
    "gemma3": ({
        "model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 5376, "num_hidden_layers": 62, "num_attention_heads": 32,
            "num_key_value_heads": 16, "head_dim": 128, "intermediate_size": 21504, "vocab_size": 262208,
            "sliding_window": 1024, "sliding_window_pattern": 6,
        },
    }, 27.0),
    "phi3": ({
        "model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064, "sliding_window": 2047,
        "max_position_embeddings": 4096,
    }, 3.82),
    "deepseek_v2": ({
        "model_type": "deepseek_v2", "hidden_size": 5120, "num_hidden_layers": 60, "num_attention_heads": 128,
        "num_key_value_heads": 128, "intermediate_size": 12288, "vocab_size": 102400, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
        "n_routed_experts": 160, "num_experts_per_tok": 6, "moe_intermediate_size": 1536, "n_shared_experts": 2,
        "first_k_dense_replace": 1,
    }, 235.7),
    "deepseek_v3": ({
        "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
        "num_key_value_heads": 128, "intermediate_size": 18432, "vocab_size": 129280, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
        "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1,
        "first_k_dense_replace": 3, "num_nextn_predict_layers": 1,
    }, 671.0),
    "gpt_oss": ({
        "model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "vocab_size": 201088,
        "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128,
        "max_position_embeddings": 131072, "layer_types": ["sliding_attention", "full_attention"] * 12,
    }, 20.9),
    "glm4_moe": ({
        "model_type": "glm4_moe", "hidden_size": 4096, "num_hidden_layers": 46, "num_attention_heads": 96,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 10944, "vocab_size": 151552,
        "n_routed_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "num_nextn_predict_layers": 1,
    }, 106.9),
    "nemotron_h": ({
        "model_type": "nemotron_h", "hidden_size": 2688, "num_hidden_layers": 52, "num_attention_heads": 32,
        "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 1856, "vocab_size": 131072,
        "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", "mamba_num_heads": 64,
        "mamba_head_dim": 64, "ssm_state_size": 128, "n_routed_experts": 128, "num_experts_per_tok": 6,
        "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712,
    }, 31.6),
    "vit": ({
        "model_type": "vit", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
        "intermediate_size": 4096, "image_size": 224, "patch_size": 16,
    }, 0.3034),
}  # fmt: skip
SAME_AS_OURS = {
    "llama": "llama3-8b", "mistral": "mistral-7b", "mixtral": "mixtral-8x7b", "qwen2": "qwen2.5-0.5b",
    "qwen3": "qwen3-8b", "qwen3_moe": "qwen3-30b-a3b", "gpt2": "gpt2", "gpt_neox": "gpt-neox-20b", "opt": "opt-6.7b",
    "bloom": "bloom-176b", "bert": "bert-large", "falcon": "falcon-40b", "gemma": "gemma-7b", "gemma2": "gemma2-9b",
    "gemma3": "gemma3-27b", "phi3": "phi3-mini", "deepseek_v2": "deepseek-v2", "deepseek_v3": "deepseek-v3",
    "gpt_oss": "gpt-oss-20b", "vit": "vit-l-16", "glm4_moe": "glm4.5-air",
    "nemotron_h": "nemotron3-nano", "gpt_bigcode": "starcoder-15b",
}  # fmt: skip


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_config_has_as_many_parameters_as_its_model(kind):
    """Within a hundredth of what is published; prediction layers beside the model are not counted there."""
    config, billions = CONFIGS[kind]
    read = replace(architecture_of(config, "config.json"), mtp_layers=0)

    assert count(read).total / 1e9 == pytest.approx(billions, rel=0.01)


@pytest.mark.parametrize("kind", SAME_AS_OURS)
def test_a_config_is_the_row_of_the_catalog(kind):
    """The catalog and the file agree in every field but name and source."""
    read = architecture_of(CONFIGS[kind][0], "config.json")
    ours = architecture(SAME_AS_OURS[kind])

    assert replace(read, name="", source="") == replace(ours, name="", source="")


def test_a_model_is_a_name_or_a_path(tmp_path):
    """A file, its folder, or a name of the catalog."""
    file = tmp_path / "my-llama" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps(LLAMA3))

    assert model_of(str(file)).name == "my-llama"
    assert model_of(str(file.parent)) == replace(model_of(str(file)), name="my-llama")
    assert model_of("LLAMA3_8B").name == "llama3-8b"


@pytest.mark.parametrize(
    ("text", "code"),
    [("{", "bad-json"), ("[1]", "bad-json"), ('{"model_type": "lama"}', "unknown-architecture"),
     ("{}", "unknown-architecture"), (b"\xff\xfe\x00", "file-unreadable"), ("[" * 200_000, "bad-json")],
)  # fmt: skip
def test_a_file_that_is_no_config_says_so(tmp_path, text, code):
    """No traceback, but the file, what is wrong and the fix."""
    file = tmp_path / "config.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(WrightError) as caught:
        model_of(str(file))

    assert [each.code for each in caught.value.findings] == [code]
    assert str(file) in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_there_is_unreadable(tmp_path):
    """A path is a path even where it is wrong."""
    with pytest.raises(WrightError, match="file-unreadable"):
        model_of(str(tmp_path / "config.json"))


def test_an_unknown_type_names_the_nearest():
    """`lama` is close to `llama`."""
    with pytest.raises(WrightError, match="most similar supported model_type is `llama`"):
        architecture_of({"model_type": "lama"}, "config.json")


def test_all_missing_keys_are_named_at_once():
    """And the values that are wrong beside them."""
    config = {"model_type": "llama", "hidden_size": -1, "num_attention_heads": "32", "tie_word_embeddings": 3}
    with pytest.raises(WrightError) as caught:
        architecture_of(config, "config.json")

    said = {(each.code, each.places[0].path) for each in caught.value.findings}
    assert said == {
        ("missing-config-key", "num_hidden_layers"), ("missing-config-key", "intermediate_size"),
        ("missing-config-key", "vocab_size"), ("bad-config-value", "hidden_size"),
        ("bad-config-value", "num_attention_heads"), ("bad-config-value", "tie_word_embeddings"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [("deepseek_v2", "first_k_dense_replace", 61), ("mixtral", "num_experts_per_tok", 9),
     ("llama", "num_key_value_heads", 5)],
)  # fmt: skip
def test_parts_that_do_not_fit_together_are_refused(kind, key, value):
    """More dense layers than layers, more experts than there are, heads that do not divide."""
    with pytest.raises(WrightError, match="bad-config-value"):
        architecture_of(CONFIGS[kind][0] | {key: value}, "config.json")


def test_a_width_that_does_not_divide_among_the_heads_is_refused():
    """Without a head_dim there is no way to tell."""
    with pytest.raises(WrightError, match="is not divisible by 31 heads"):
        architecture_of(LLAMA3 | {"num_attention_heads": 31}, "config.json")


@pytest.mark.parametrize(
    "key", ["num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size"]
)
def test_a_part_of_size_zero_is_refused(key):
    """A model without layers is none."""
    with pytest.raises(WrightError, match="bad-config-value"):
        architecture_of(LLAMA3 | {key: 0}, "config.json")


def test_a_hybrid_without_experts_has_none():
    """Nemotron-H 8B: the same type, with plain feed-forward parts; a list of words in place of letters."""
    config = CONFIGS["nemotron_h"][0] | {"intermediate_size": 4096}
    words = {"hybrid_override_pattern": None, "layers_block_type": ["mamba", "mlp", "attention", "mlp"]}
    read = architecture_of(config | words, "config.json")

    assert (read.layers, read.mamba_layers, read.attention_layers, read.experts, read.ffn) == (
        4,
        1,
        1,
        0,
        4096,
    )


@pytest.mark.parametrize("pattern", ["", "MXM", 3])
def test_a_pattern_that_is_none_is_refused(pattern):
    """The letters are M, *, - and E."""
    with pytest.raises(WrightError, match="bad-config-value"):
        architecture_of(CONFIGS["nemotron_h"][0] | {"hybrid_override_pattern": pattern}, "config.json")


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5000), st.floats(), st.text(max_size=5), st.lists(st.text(max_size=3)),
    st.sampled_from(["full_attention", ["full_attention"], ["mamba"], {}]),
)  # fmt: skip


@given(st.data())
def test_a_config_with_a_wrong_value_is_read_or_refused(data):
    """Whatever stands under any key of any type: an architecture, or an error for the user; never a traceback."""
    config = dict(CONFIGS[data.draw(st.sampled_from(sorted(CONFIGS)))][0])
    keys = sorted({*config, "layer_types", "sliding_window_pattern", "mlp_only_layers", "layers_block_type"})
    for key in data.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=3)):
        config[key] = data.draw(ANYTHING)
    try:
        read = architecture_of(config, "config.json")
    except WrightError as error:
        assert error.findings  # noqa: PT017 (either outcome is right, no third)
    else:
        assert read.layers > 0
        assert count(read).total > 0
