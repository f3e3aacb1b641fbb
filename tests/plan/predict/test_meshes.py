"""Ever finer cuts of a model."""

import pytest

from clusterwright.plan.predict.meshes import MOE_SLOTS, SLOTS, meshes
from clusterwright.plan.predict.runs import run_of


def run(**row):
    """A run of 64 H100."""
    return run_of({"gpu_type": "H100", "num_gpus": "64", "seq_len": "4096", "global_batch": "64", "micro_batch": "1",
                   "recompute": "full", "tp": "1", "pp": "1", "zero_stage": "1"} | row)[0]  # fmt: skip


@pytest.mark.parametrize("model", ["llama3-70b", "llama3.1-405b", "mixtral-8x7b", "deepseek-v3"])
def test_every_mesh_uses_all_gpus_and_divides_the_model(model):
    """Each finer than the one before."""
    one = run(model=model)
    shape = one.training.architecture

    found = list(meshes(one, {"mesh"}))

    assert len(found) > 2
    assert len(set(map(repr, found))) == len(found)
    for cut in found:
        assert cut.gpus == 64
        assert shape.heads % cut.tp == 0
        assert -shape.layers % cut.pp in (MOE_SLOTS if shape.experts else SLOTS)
        if shape.experts:
            assert shape.experts % cut.ep == 0
            assert cut.dp * cut.cp * cut.tp % cut.ep == 0


def test_a_mesh_that_was_given_stays():
    """Only what was inferred may change."""
    one = run(model="llama3-70b")

    assert list(meshes(one, set())) == [one.layout]


def test_a_model_of_experts_without_a_mesh_is_spread_until_it_fits():
    """DeepSeek-V3 on 2,048 GPUs of 80 GB."""
    row = {
        "model": "deepseek-v3",
        "source": "tech report",
        "gpu_type": "H800",
        "num_gpus": "2048",
        "seq_len": "4096",
        "global_batch": "15360",
    }

    found, notes = run_of(row)

    assert found.layout.ep >= 16
    assert any("as the run does not fit otherwise" in note for note in notes)
