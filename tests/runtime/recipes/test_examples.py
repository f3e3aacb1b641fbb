"""The jobs of examples/jobs train, with as many ranks as they say."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from clusterwright.config.load import load_job
from clusterwright.launch.command import command, imports
from clusterwright.launch.variables import parallel as variables
from clusterwright.runtime.recipes.models.llama import Llama
from clusterwright.runtime.recipes.models.llama_config import Config

pytestmark = pytest.mark.train
JOBS = Path(__file__).parents[3] / "examples" / "jobs"
LESS = {
    "gpt": ["--text-bytes", "100000", "--width", "32", "--layers", "2", "--context", "32"],
    "llama": ["--text-bytes", "100000", "--width", "32", "--inner", "48", "--layers", "2", "--context", "32"],
    "bert": ["--text-bytes", "100000", "--width", "32", "--layers", "2", "--context", "32"],
    "resnet": ["--width", "4", "--evaluate-samples", "8"],
    "instruct": ["--context", "64", "--batch", "8"],
}
SHAPE = {
    "model_type": "llama", "vocab_size": 256, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip


@pytest.fixture
def instructed(tmp_path):
    """The options that name a model and a file of answers which are here."""
    (tmp_path / "config.json").write_text(json.dumps(SHAPE))
    weights = {name: each.detach() for name, each in Llama(Config.from_dict(SHAPE)).named_parameters()}
    safetensors.save_file(weights, tmp_path / "model.safetensors")
    lines = [json.dumps({"prompt": str(n), "response": str(n + 1)}) for n in range(40)]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    return ["--model", str(tmp_path), "--data", str(tmp_path / "answers.jsonl")]


@pytest.mark.parametrize("name", ["gpt", "llama", "instruct", "bert", "resnet"])
def test_an_example_trains(recipe, instructed, tmp_path, name):
    """Its own options and layout, but for a smaller model, fewer steps, and places on this machine."""
    job = load_job(JOBS / f"{name}.yaml")
    _, module, *options = command(job)
    here = (
        instructed if name == "instruct" else ["--save", str(tmp_path / "saved")] if name == "llama" else []
    )
    parallel = json.loads(variables(job).get("CLUSTERWRIGHT_PARALLEL", "{}"))
    how = [*options, *LESS[name], *here, "--steps", "2"]
    done = recipe(name, *how, ranks=job.nodes * job.gpus_per_node, parallel=parallel)

    assert module == f"clusterwright.runtime.recipes.{name}"
    assert done.codes == [0] * 4, done.log
    assert json.loads((done.folder / "finished.json").read_text())["step"] == 2


@pytest.mark.parametrize("name", ["gpt", "llama", "instruct", "bert", "resnet"])
def test_what_a_recipe_is_made_of_is_imported_before_its_ranks_are(name):
    """By names that are there; torch's parts for cut models, too, which take two seconds each."""
    job = load_job(JOBS / f"{name}.yaml")
    found = imports(job)

    assert all(__import__(each, fromlist=["_"]) for each in found)
    assert f"clusterwright.runtime.recipes.{name}" not in found
    assert ("torch.distributed.fsdp" in found) == (name in {"gpt", "llama", "instruct"})
    assert ("torch.distributed.tensor.parallel" in found) == (name == "llama")
