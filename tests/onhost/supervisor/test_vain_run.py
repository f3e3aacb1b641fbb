"""A real run of two hosts whose loss is not a number."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.timeout(200)]
GUARDED = Path(__file__).parents[2] / "runtime" / "guarded.py"


def test_a_loss_that_is_not_finite_ends_the_run_at_once(local_run, monkeypatch):
    """It would come again: one generation, and words that name rank and step."""
    monkeypatch.setenv("TOY_NAN", "1:5")
    local_run.start(script=GUARDED, ranks=1)
    assert local_run.finish() == 1

    ended = json.loads((local_run.folder / "ended.json").read_text())
    assert ended["outcome"] == "failed"
    assert "the loss is nan on rank 1 in step 5" in ended["reason"]
    assert len(local_run.events("generation_start")) == 1


def test_a_rank_whose_weights_are_silently_wrong_takes_its_host_out(local_run, monkeypatch):
    """Of three ranks the majority knows; its host trains no more, a spare takes its place."""
    monkeypatch.setenv("TOY_FLIP", "2:4")
    monkeypatch.setenv("TOY_VERIFY", "3")
    monkeypatch.setenv("TOY_COMPARE", "0")
    local_run.start(script=GUARDED, ranks=1, nodes=3, spares=1, policy="spare")
    second = local_run.until(lambda: local_run.events("generation_start", generation=2))[0]
    first = local_run.events("generation_start", generation=1)[0]

    assert local_run.events("corrupt")[0]["ranks"] == [2]
    assert first["hosts"][2] not in second["hosts"]
