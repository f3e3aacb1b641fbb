"""Values of a catalog and of a model's config that would be accepted in silence."""

import json

import pytest

from clusterwright.catalog.hf import model_of
from clusterwright.catalog.user_catalog_file import load
from clusterwright.errors import WrightError

GPU = (
    '[gpus.x1]\narch = "{arch}"\nmemory = "96GB"\nbandwidth = "4TB/s"\n[gpus.x1.peak]\nbf16 = "800TFLOP/s"\n'
)


def findings_of(tmp_path, text):
    """Return the findings of a catalog."""
    file = tmp_path / "catalog.toml"
    file.write_text(text)
    with pytest.raises(WrightError) as caught:
        load(file)
    return caught.value.findings


def test_a_misspelled_generation_is_named(tmp_path):
    """Its figures would be those of another generation."""
    (finding,) = findings_of(tmp_path, GPU.format(arch="Hoper"))
    assert "Hoper" in finding.message
    assert "`Hopper`" in finding.fix
    assert finding.places[0].line == 2


@pytest.mark.parametrize("arch", ["Hopper", "Rubin", "Hopper Next"])
def test_another_generation_is_accepted(tmp_path, arch):
    """A catalog is for GPUs that we do not know."""
    file = tmp_path / "catalog.toml"
    file.write_text(GPU.format(arch=arch))
    assert load(file).gpus["x1"].arch == arch


def test_heads_are_judged_with_a_missing_key(tmp_path):
    """Which does not depend on them; a rate is at the line of its table."""
    text = GPU.format(arch="Hopper").replace("FLOP/s", "FLOPS")
    text += "[models.m]\nlayers = 2\nhidden = 2560\nheads = 20\nkv_heads = 3\nvocab = 64000\n"
    findings = findings_of(tmp_path, text)
    assert [finding.places[0].line for finding in findings] == [5, 7, 11]
    assert "key-value heads" in findings[2].message


def test_a_negative_integer_is_below_its_limit(tmp_path):
    """It was said to be no integer."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"model_type": "qwen3", "vocab_size": -1}))
    with pytest.raises(WrightError) as caught:
        model_of(str(file), None)
    assert any(
        "`vocab_size` is -1; it must be at least" in finding.message for finding in caught.value.findings
    )
