"""Weights in safetensors: what was saved is what is loaded, and what does not fit is named."""

import json
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from clusterwright.runtime.recipes import folder, weights
from clusterwright.runtime.recipes.models.llama import Llama
from clusterwright.runtime.recipes.models.llama_config import Config

pytestmark = pytest.mark.train
DATA = Path(__file__).parent / "data" / "llama"


def made(**changes):
    """A model of the folder's shape, but for what is changed."""
    return Llama(Config.from_dict({**json.loads((DATA / "config.json").read_text()), **changes}))


@pytest.mark.parametrize("largest", [5_000, 10**9])
def test_what_is_saved_is_what_is_loaded(tmp_path, largest):
    """In several files and an index, or in one."""
    model, again = made(), made()
    parameters = dict(model.named_parameters())
    weights.save(parameters, tmp_path, dtype=torch.float32, rank=0, largest=largest)
    weights.load(again, tmp_path)

    assert (tmp_path / weights.INDEX).exists() == (largest == 5_000)
    assert not list(tmp_path.glob(".*"))
    for name, each in again.named_parameters():
        assert torch.equal(each, parameters[name])


def test_a_tied_weight_is_found_under_each_of_its_names(tmp_path):
    """A file may store it under the second one, as some converters do."""
    model, again = made(tie_word_embeddings=True), made(tie_word_embeddings=True)
    tensors = {name: each.detach() for name, each in model.named_parameters()}
    tensors["lm_head.weight"] = tensors.pop("model.embed_tokens.weight")
    safetensors.save_file(tensors, tmp_path / weights.SINGLE_FILE)
    weights.load(again, tmp_path)

    for name, each in again.named_parameters(remove_duplicate=False):
        assert torch.equal(each, model.get_parameter(name))


def test_the_index_says_how_much_there_is(tmp_path):
    """As Hugging Face's own does: every tensor in a file that is there, and the bytes of all."""
    model = made()
    weights.save(dict(model.named_parameters()), tmp_path, dtype=torch.bfloat16, rank=0, largest=3_000)
    index = json.loads((tmp_path / weights.INDEX).read_text())

    assert set(index["weight_map"]) == {name for name, _ in model.named_parameters()}
    assert {path.name for path in tmp_path.glob("*.safetensors")} == set(index["weight_map"].values())
    assert index["metadata"]["total_size"] == 2 * sum(each.numel() for each in model.parameters())


def test_numbers_are_saved_as_the_config_says(tmp_path):
    """And the tokenizer's files come along."""
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "tokenizer.json").write_text("{}")
    folder.save_model(made(dtype="bfloat16"), str(tmp_path / "to"), str(tmp_path / "from"), 0)

    saved = safetensors.load_file(tmp_path / "to" / "model.safetensors")
    assert {each.dtype for each in saved.values()} == {torch.bfloat16}
    assert json.loads((tmp_path / "to" / "config.json").read_text())["dtype"] == "bfloat16"
    assert (tmp_path / "to" / "tokenizer.json").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_hidden_layers": 3}, r"has no tensor model.layers.2.input_layernorm.weight and 8 more"),
        (
            {"num_hidden_layers": 1},
            r"has model.layers.1.\S+ and 8 more, which the model of config.json does not have",
        ),
        (
            {"intermediate_size": 25},
            r"mlp.gate_proj.weight has shape \[24, 16\], but \[25, 16\] by config.json",
        ),
        (
            {"vocab_size": 30},
            r"embed_tokens.weight has shape \[29, 16\], but \[30, 16\] by config.json",
        ),
        ({"tie_word_embeddings": False}, "has no tensor lm_head.weight"),
    ],
)
def test_a_config_that_does_not_fit_the_weights_names_the_tensor(changes, words):
    """And both shapes."""
    with pytest.raises(ValueError, match=words):
        weights.load(made(**changes), DATA)


def test_files_that_are_not_whole_are_named(tmp_path):
    """One that the index names and is gone, one that is cut short, and a folder with none."""
    there = shutil.copytree(DATA, tmp_path / "there")
    (there / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(ValueError, match=r"names model-00002-of-00003\.safetensors, which does not exist"):
        weights.load(made(), there)

    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "model.safetensors").write_bytes(b"\0" * 5)
    with pytest.raises(ValueError, match=r"cut/model.safetensors is damaged or truncated"):
        weights.load(made(), tmp_path / "cut")

    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match=r"has neither model\.safetensors nor"):
        weights.load(made(), tmp_path / "none")


def test_a_shard_that_is_cut_short_is_named(tmp_path):
    """Also where there are several."""
    there = shutil.copytree(DATA, tmp_path / "there")
    shard = there / "model-00003-of-00003.safetensors"
    shard.write_bytes(shard.read_bytes()[:-100])

    with pytest.raises(ValueError, match=r"model-00003-of-00003.safetensors is damaged or truncated"):
        weights.load(made(), there)


def test_without_the_package_its_extra_is_said(monkeypatch):
    """As on a host that has torch alone."""
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    monkeypatch.setitem(__import__("sys").modules, "safetensors.torch", None)

    with pytest.raises(ModuleNotFoundError, match=r"pip install clusterwright\[train\]"):
        weights.load(made(), DATA)
