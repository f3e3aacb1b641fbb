"""Our models are those of Hugging Face: the same names, the same numbers."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from clusterwright.catalog.models import architecture
from clusterwright.runtime.recipes import weights
from clusterwright.runtime.recipes.models import bert, llama
from clusterwright.runtime.recipes.models.llama_config import Config

pytestmark = pytest.mark.train
DATA = Path(__file__).parent / "data"


@torch.no_grad()
def test_a_llama_computes_what_hugging_faces_does():
    """From its own folder: shards and index, grouped queries, tied embedding, scaled rotary positions."""
    expected = safetensors.load_file(DATA / "llama" / "expected.safetensors")
    model = llama.Llama(Config.read(DATA / "llama" / "config.json"))
    weights.load(model, DATA / "llama")

    scores = model.scores(expected["tokens"])
    assert torch.allclose(scores, expected["scores"], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_bert_computes_what_hugging_faces_does():
    """At every place."""
    expected = safetensors.load_file(DATA / "bert" / "expected.safetensors")
    model = bert.Bert(bert.Config.read(DATA / "bert" / "config.json")).eval()
    weights.load(model, DATA / "bert")
    places = torch.arange(24).expand(1, 24)

    scores = model(expected["tokens"], places)
    assert torch.allclose(scores, expected["scores"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "count"),
    [("llama3-8b", 8_030_261_248), ("llama3-70b", 70_553_706_496), ("llama2-7b", 6_738_415_616)],
)
def test_a_llama_of_the_catalogs_shape_has_as_many_parameters_as_its_makers_say(name, count):
    """To the last one."""
    known = architecture(name)
    config = Config.from_dict(
        {
            "vocab_size": known.vocab, "hidden_size": known.hidden, "intermediate_size": known.ffn,
            "num_hidden_layers": known.layers, "num_attention_heads": known.heads,
            "num_key_value_heads": known.kv_heads, "tie_word_embeddings": known.tied,
        }
    )  # fmt: skip
    with torch.device("meta"):
        made = llama.Llama(config)

    assert sum(each.numel() for each in made.parameters()) == count


def test_a_target_that_is_ignored_costs_nothing():
    """And neither does what stands behind it."""
    model = llama.Llama(Config.read(DATA / "llama" / "config.json"))
    tokens = torch.arange(8)[None]
    targets = torch.full((1, 8), llama.IGNORED)
    targets[0, 3] = 5
    other = tokens.clone()
    other[0, 4:] = 9

    alone = -model.scores(tokens)[0, 3].log_softmax(0)[5]
    assert model(tokens, targets).item() == pytest.approx(alone.item(), rel=1e-5)
    assert model(other, targets).item() == pytest.approx(alone.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"model_type": "mistral"}, "model_type mistral with silu"),
        ({"hidden_act": "gelu"}, "llama with gelu"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_type yarn is not supported"),
        ({"num_key_value_heads": 3}, "num_attention_heads 4 is not a multiple of num_key_value_heads 3"),
        ({"head_dim": 5}, "head_dim 5 is odd"),
    ],
)
def test_a_config_of_something_else_is_refused(tmp_path, told, words):
    """With the file's name."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads((DATA / "llama" / "config.json").read_text()), **told}))

    with pytest.raises(ValueError, match=words) as refused:
        Config.read(path)
    assert str(path) in str(refused.value)
