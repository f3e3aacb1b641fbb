"""The model of a row."""

import pytest

from clusterwright.plan.parameters import count
from clusterwright.plan.predict.runs import run_of

MACHINE = {
    "gpu_type": "A100-SXM-80GB",
    "num_gpus": "64",
    "tp": "8",
    "pp": "8",
    "seq_len": "2048",
    "global_batch": "64",
}


def model(**row):
    """The architecture of a row on 64 A100."""
    return run_of(MACHINE | row)[0].training.architecture


@pytest.mark.parametrize("size", ["18", "39", "52", "104", "175", "530"])
def test_a_size_alone_gives_a_shape_of_that_size(size):
    """Within a fifth, with heads and layers that the cut divides."""
    found = model(model=f"GPT-{size}B-of-ours", params_b=size)

    assert count(found).total / 1e9 == pytest.approx(float(size), rel=0.2)
    assert found.heads % 8 == 0
    assert found.layers % 8 == 0
    assert 96 <= found.hidden / found.heads <= 160


def test_what_the_row_says_wins_over_the_catalog():
    """A model cut to fewer layers keeps its other widths."""
    found = model(model="llama3.1-405b (depth-reduced proxy)", layers="16")

    assert (found.layers, found.hidden, found.kv_heads, found.gated) == (16, 16384, 8, True)


def test_families_differ_in_their_blanks():
    """GPT: 4 h, biases, tied; LLaMA's: gated, 8/3 h rounded up."""
    gpt = model(model="GPT-9B-of-ours", hidden="4096", heads="32", layers="32")
    llama = model(model="llama-of-ours", hidden="4096", heads="32", layers="32")

    assert (gpt.ffn, gpt.gated, gpt.tied, gpt.biases) == (16384, False, True, True)
    assert (llama.ffn, llama.gated, llama.tied, llama.biases) == (11008, True, False, False)
    assert gpt.vocab == 51200  # 50,257 padded to 128 x tp 8


def test_flags_in_the_notes_shape_the_model():
    """As Megatron's own arguments: experts, their width, latent attention, gating."""
    notes = (
        "num-experts=8; moe-router-topk=2; moe-ffn-hidden-size=1024; moe-layer-freq=([0]*2+[1]*6); swiglu=True; "
        "multi-latent-attention=True; untie-embeddings-and-output-weights=True; disable-bias-linear=True"
    )

    found = model(model="gpt-of-ours", hidden="1024", heads="16", layers="8", notes_url=notes)

    assert (found.experts, found.experts_per_token, found.expert_ffn, found.dense_layers) == (8, 2, 1024, 2)
    assert (found.attention, found.gated, found.tied, found.biases) == ("mla", True, False, False)


def test_a_size_that_does_not_fit_the_shape_is_noted():
    """Active and total parameters are easily mixed up."""
    _, notes = run_of(MACHINE | {"model": "llama2-70b", "params_b": "7"})

    assert any("the shape has 69 billion parameters, the row has 7" in note for note in notes)
