"""Architectures are found under any spelling, never under another's, and count to their published size."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import UserCatalog, architecture, architectures, resembling
from clusterwright.catalog.model_names import tokens
from clusterwright.catalog.rows import rows
from clusterwright.errors import WrightError
from clusterwright.plan.parameters import count

PUBLISHED = Path(__file__).parents[2] / "bench" / "accuracy" / "published"
# Tables that name a model only by its size, whose shape is in the row or nowhere; and models whose shape is not public.
SIZES = [
    "20B", "200B", "194B", "191B", "195B", "196B", "177B", "182B", "181B", "184B", "178B", "203B",
    "176B", "30B", "50B", "78B", "18B", "116B", "206B", "39B", "52B", "24B", "97B", "104B-wide", "1.7B",
    "7.1B", "16B", "32B", "70B", "119B", "314B", "462B", "3.6B", "7.5B", "76B", "145B", "310B", "291B",
    "1B", "2B", "4B", "8B",
]  # fmt: skip
NAMED_BY_SIZE = {f"GPT-{size}" for size in SIZES}
CHANGED = {"llama3.1-405b (depth-reduced proxy)", "GPT-22B (1 layer)", "deepseekv2 cut to 4 layers"}
NOT_KNOWN = NAMED_BY_SIZE | CHANGED


def published_models():
    """Every text in a model column, but Megatron-LM's test names, which carry their shape."""
    for file in sorted(PUBLISHED.glob("*.csv")):
        with file.open(newline="") as lines:
            if "golden" not in file.name:
                yield from (row["model"] for row in csv.DictReader(lines) if row.get("model"))


@pytest.mark.parametrize("text", sorted(set(published_models())))
def test_a_published_model_is_known_or_listed_here(text):
    """What is not known is not known on purpose."""
    if text in NOT_KNOWN:
        with pytest.raises(WrightError, match="unknown-model"):
            architecture(text)
    else:
        assert architecture(text).name in architectures()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("LLAMA3_70B", "llama3-70b"), ("LLAMA3-70B", "llama3-70b"),
        ("meta-llama/Meta-Llama-3-70B-Instruct", "llama3-70b"),
        ("llama2-70b [maxtext]", "llama2-70b"), ("meta-llama/Llama-2-7b-hf", "llama2-7b"), ("Llama-7B", "llama-7b"),
        ("LLaMA 30B", "llama-33b"), ("Llama3-405B", "llama3.1-405b"), ("Llama 3.3 70B", "llama3.1-70b"),
        ("LLAMA3_8B_lora", "llama3-8b"), ("llama3-8b-tp1pp4", "llama3-8b"), ("llama3 70b bf16 8192", "llama3-70b"),
        ("Qwen3_235B_a22B (tokendrop)", "qwen3-235b-a22b"), ("Qwen3 MoE 30B", "qwen3-30b-a3b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"), ("DeepSeekV3 (w/o MTP)", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-v3"), ("DeepSeekV2-Lite", "deepseek-v2-lite"),
        ("gpt3-175b [paxml]", "gpt3-175b"), ("GPT-3-175B", "gpt3-175b"), ("GPT3-20B", "gpt3-20b"),
        ("MT-NLG-530B", "megatron-530b"), ("Nemotron_3_Nano", "nemotron3-nano"), ("Nemotron-8B", "nemotron3-8b"),
        ("nemotron4-340b", "nemotron4-340b"), ("nemotron-h-56b", "nemotron-h-56b"), ("MPT-7b", "mpt-7b"),
        ("GPT OSS 120B", "gpt-oss-120b"), ("openai/gpt-oss-20b", "gpt-oss-20b"), ("Kimi K2", "kimi-k2"),
        ("mixtral/mixtral_8x22b_tp2pp8ep8vpp1_release", "mixtral-8x22b"), ("GPT-2 XL", "gpt2-xl"),
        ("gpt2-124M", "gpt2"), ("bert-large-uncased", "bert-large"), ("google/gemma-2-9b-it", "gemma2-9b"),
        ("ViT-B/16", "vit-b-16"), ("bigscience/bloom", "bloom-176b"), ("EleutherAI/pythia-1b", "pythia-1b"),
    ],
)  # fmt: skip
def test_a_spelling_means_its_model(text, name):
    """Tables, hubs and people write the same model in many ways."""
    assert architecture(text).name == name


@pytest.mark.parametrize(
    "text",
    ["", "banana", "llama", "llama-70b", "llama 5 scout", "Llama 3 MoE 8B", "qwen 30b", "Qwen3_Next_80B_A3B",
     "Qwen3 VL 30B", "DeepSeek-V3.2", "mpt", "gpt 5", "llama3-70b-layers-4", "70b", "mistral-7b-v0.9"],
)  # fmt: skip
def test_another_model_is_refused(text):
    """A wrong shape is worse than none."""
    with pytest.raises(WrightError) as caught:
        architecture(text)

    assert caught.value.findings[0].code == "unknown-model"


@pytest.mark.parametrize(
    ("text", "name"),
    [("deepseekv2 cut to 4 layers", "deepseek-v2"), ("llama3.1-405b (depth-reduced proxy)", "llama3.1-405b"),
     ("GPT-22B (1 layer)", "megatron-22b"), ("LLAMA3_8B", "llama3-8b"),
     ("deepseekv3_proxy_flex_tp2pp2emp16etp1cp1_gb_200_release", "deepseek-v3"),
     ("mixtral_8x7b_alltoall_tp2pp4ep4_release", "mixtral-8x7b"), ("nemotron3_super_release_gb200", "nemotron3-super")],
)  # fmt: skip
def test_a_changed_model_resembles_the_one_it_was_made_from(text, name):
    """Its own columns then say what was changed."""
    found = resembling(text)

    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "text",
    ["GPT-5 175b", "nemotron 5 8b", "llama 4 7b", "deepseek_proxy_fsdp_ep2_fsdp2", "gpt3_15b_8t_release"],
)
def test_a_name_that_only_looks_like_one_resembles_none(text):
    """A number that is not about layers, or a toy of no size, is no reason to take the nearest."""
    assert resembling(text) is None


@given(
    st.sampled_from(sorted(architectures())), st.sampled_from(["-", " ", "_"]), st.booleans(),
    st.sampled_from(["", " [nemo]", " (w/o MTP)", "-bf16", "_lora"]),
)  # fmt: skip
def test_case_dashes_and_remarks_do_not_matter(name, dash, upper, after):
    """The catalog's own names are found however they are dressed."""
    text = name.replace("-", dash)
    assert architecture((text.upper() if upper else text) + after).name == name


@given(st.text(max_size=40))
def test_any_text_is_a_model_or_an_error_for_the_user(text):
    """Never a traceback."""
    try:
        assert architecture(text).name in architectures()
    except WrightError as error:
        assert error.findings[0].code == "unknown-model"  # noqa: PT017 (either outcome is right, no third)


@pytest.mark.parametrize(
    ("name", "printed_b"),
    [(row["name"], row["published_params_b"]) for row in rows("models") if row["published_params_b"]],
)
def test_the_shape_counts_to_the_published_parameters(name, printed_b):
    """Within a hundredth; prediction layers beside the model are not in the published number.

    Papers round (1.7B, 2.7B, 18.4B): a twentieth of the last printed digit's step is allowed too. The class and
    patch matrices of vision transformers are not in the architecture: 1.4 million of ViT-B's 86.6.
    """
    shape = replace(architecture(name), mtp_layers=0)
    published = float(printed_b) * 1e9
    printed = f"{published / 1e9:g}"
    step = 10.0 ** -len(printed.partition(".")[2]) * 1e9

    slack = 0.035 * published if name.startswith("vit") else max(0.01 * published, step / 2)
    assert abs(count(shape).total - published) <= slack


@pytest.mark.parametrize("row", rows("models"), ids=lambda row: row["name"])
def test_a_row_has_its_source_and_fits_together(row):
    """What is written of experts, mixers and windows is whole."""
    one = architecture(row["name"])

    assert len(one.source) > 10
    assert one.heads % one.kv_heads == 0
    assert (one.experts > 0) == (one.experts_per_token > 0) == (one.expert_ffn > 0)
    assert one.experts_per_token <= max(1, one.experts)
    assert (one.mamba_layers > 0) == (one.mamba_heads > 0) == (one.attention_layers >= 0)
    assert one.window or not one.window_every
    assert (one.attention == "mla") == (one.rope_head_dim > 0)


def test_the_users_own_model_wins():
    """Also over one of ours with the same name."""
    mine = replace(architecture("llama3-8b"), layers=3)

    assert architecture("llama3-8b", UserCatalog(models={"llama3-8b": mine})) is mine
    assert architecture("llama3-70b", UserCatalog(models={"llama3-8b": mine})).layers == 80


def test_no_two_models_share_a_spelling():
    """Else the order of the rows would decide."""
    seen = {}
    for row in rows("models"):
        for text in (row["name"], *row["also"].split("|")):
            if text:
                assert seen.setdefault(tokens(text), row["name"]) == row["name"], text
