"""The recipe is the same training in every layout, resumes exactly, and learns."""

import json

import pytest

torch = pytest.importorskip("torch")

from clusterwright.catalog.models import architecture
from clusterwright.runtime.recipes.models.bert import Bert, Config

pytestmark = pytest.mark.train

SMALL = [
    "--layers", 2, "--width", 32, "--heads", 4, "--batch", 8, "--microbatch", 3, "--context", 24, "--warmup", 4,
    "--text-bytes", 100_000, "--evaluate-samples", 7, "--evaluate-every", 6,
]  # fmt: skip


@pytest.mark.parametrize(
    ("ranks", "parallel"), [(2, {}), (2, {"shard": "full"}), (4, {"shard": "optimizer"})], ids=str
)
def test_every_layout_is_the_same_training(recipe, numbers, measured, ranks, parallel):
    """The same words are hidden whatever the ranks; the rest is the order of sums in float32."""
    how = ["bert", *SMALL, "--dropout", 0, "--steps", 6]
    alone = recipe(*how, folder="alone")
    cut = recipe(*how, ranks=ranks, parallel=parallel, folder="cut")

    assert cut.codes == [0] * ranks, cut.log
    assert numbers(cut) == pytest.approx(numbers(alone), rel=1e-4)
    assert measured(cut, "validation") == pytest.approx(measured(alone, "validation"), rel=1e-4)


def test_it_resumes_bit_for_bit(recipe):
    """With dropout, and other words hidden in each step."""
    whole = recipe("bert", *SMALL, "--steps", 6, "--warmup", 50, folder="whole", ranks=2)
    recipe("bert", *SMALL, "--steps", 3, "--warmup", 50, ranks=2)
    parts = recipe("bert", *SMALL, "--steps", 6, "--warmup", 50, ranks=2)

    assert whole.codes == parts.codes == [0, 0], parts.log
    assert parts.losses() == whole.losses()


def test_bert_large_has_as_many_parameters_as_the_catalog_says():
    """And exactly those of Hugging Face's BertForMaskedLM, bert-large-uncased: 335,174,458."""
    known = architecture("bert-large")
    config = Config(
        vocab_size=known.vocab, hidden_size=known.hidden, num_hidden_layers=known.layers,
        num_attention_heads=known.heads, intermediate_size=known.ffn,
        max_position_embeddings=known.learned_positions,
    )  # fmt: skip
    with torch.device("meta"):
        made = Bert(config)

    assert sum(each.numel() for each in made.parameters()) == 335_174_458


def test_a_config_file_is_the_shape(recipe, tmp_path):
    """Trained, saved, and its config beside it."""
    told = {
        "model_type": "bert", "vocab_size": 300, "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 20, "max_position_embeddings": 32,
    }  # fmt: skip
    (tmp_path / "bert.json").write_text(json.dumps(told))
    done = recipe(
        "bert", *SMALL, "--config", tmp_path / "bert.json", "--save", tmp_path / "out", "--steps", 2
    )

    assert done.codes == [0], done.log
    assert json.loads((tmp_path / "out" / "config.json").read_text()) == told
    assert (tmp_path / "out" / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"vocab_size": 256}, "vocab_size 256 is too small: the tokenizer has 257 tokens"),
        ({"max_position_embeddings": 16}, "--context 24 exceeds the 16 positions of the config"),
        ({"num_attention_heads": 5}, "hidden_size 768, num_attention_heads 5"),
        ({"model_type": "llama"}, "model_type llama with gelu"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(recipe, tmp_path, told, words):
    """Both sides are said."""
    (tmp_path / "bert.json").write_text(json.dumps(told))
    refused = recipe("bert", *SMALL, "--config", tmp_path / "bert.json")

    assert refused.codes == [1]
    assert words in refused.log
