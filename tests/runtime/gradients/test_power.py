"""PowerSGD on real ranks, beside the algorithm as its authors write it, worked out in one place."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.gradients.power import _worth

pytestmark = pytest.mark.train
HERE = Path(__file__).parents[1]
POWER = {"CLUSTERWRIGHT_GRADIENT_COMPRESS": "power", "CLUSTERWRIGHT_GRADIENT_WARM_UP": "2"}


@pytest.mark.parametrize("ranks", [2, 4])
def test_it_is_what_the_paper_says(added, ranks):
    """Over several buckets, with what was left of the steps before; vectors and small matrices travel whole."""
    for said in added(ranks=ranks, ADD_STEPS=7, **POWER):
        assert said["alike"]
        assert len(said["off_simulated"]) == 5
        assert max(said["off_simulated"]) < 1e-4
        assert max(off["large"] for off in said["off"][:2]) < 1e-6, "the warm-up is whole"
        assert min(off["large"] for off in said["off"][2:]) > 1e-2, "later steps are not"
        assert max(off[name] for off in said["off"] for name in ("bias", "small", "one")) < 1e-6


def test_numbers_that_are_not_finite_are_seen_by_all_and_kept_by_none(added):
    """The step after it goes on with what was left before it."""
    for said in added(ADD_STEPS=6, ADD_BAD=3, **POWER):
        assert said["finite"] == [True, True, True, False, True, True]
        assert max(said["off_simulated"]) < 1e-4


@pytest.mark.parametrize(
    ("shape", "worth"), [((64,), False), ((3, 4), False), ((48, 64), True), ((96, 3, 8), True), ((), False)]
)
def test_only_what_is_large_is_sketched(shape, worth):
    """As torch's own hook has it: where the sketch is less than half."""
    assert _worth(torch.zeros(shape), 4) is worth


@pytest.mark.parametrize("ways", [{}, {"CLUSTERWRIGHT_GRADIENT_RANK": "2"}])
def test_a_killed_training_resumes_bit_for_bit(train, ways):
    """What was not sent yet and the directions are in the checkpoint, each rank's own."""
    toy = {"script": HERE / "toy", **POWER, **ways}
    undisturbed = train(name="undisturbed", **toy)
    train(TOY_KILL="1:7", **toy)

    resumed = train(**toy)
    assert resumed.codes == undisturbed.codes == [0, 0], resumed.log
    assert [event["step"] for event in resumed.events("resumed")] == [4]
    assert resumed.losses() == undisturbed.losses()
    assert resumed.weights() == undisturbed.weights()
    assert train(name="plain", script=HERE / "toy").losses() != resumed.losses()


def test_with_another_number_of_ranks_what_was_not_sent_is_lost_and_said(train):
    """The warm-up is not done again."""
    toy = {"script": HERE / "toy", **POWER}
    train(ranks=4, TOY_KILL="1:7", **toy)

    resumed = train(ranks=2, **toy)
    assert resumed.codes == [0, 0], resumed.log
    assert "step 4 was saved by a different number of ranks: unsent gradients are lost" in resumed.log
    assert [event["step"] for event in resumed.events("finished")] == [12]


@pytest.mark.parametrize("way", ["power", "int8"])
def test_fp16_is_refused(train, tmp_path, way):
    """Its scaler changes the units of what is kept."""
    script = tmp_path / "script"
    words = "from clusterwright import runtime\nruntime.start(seed=1, precision='fp16')\n"
    script.with_suffix(".py").write_text(words)
    refused = train(script=script, CLUSTERWRIGHT_GRADIENT_COMPRESS=way)

    assert refused.codes == [1, 1]
    assert f"compress: {way} stores unsent gradients" in refused.log
    assert "the scaler of fp16 rescales" in refused.log
