"""Ranks that meet each so many steps: the algorithm, and trainings that end in the middle and go on."""

import json

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.gradients.mean import BLOCK
from clusterwright.runtime.outer import settings

pytestmark = pytest.mark.train


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    "outer",
    [
        {"every": 4},
        {"every": 3, "lr": 1.0, "momentum": 0.0},
        {"every": 1, "momentum": 0.5},
        {"every": 3, "warm_up": 4},
    ],
)
def test_ranks_are_where_the_algorithm_says(met, ranks, outer):
    """Between meetings each by itself; at each meeting, and at the end, where torch's SGD puts all of them."""
    all_said = met(ranks=ranks, CLUSTERWRIGHT_OUTER=json.dumps(outer))

    assert all(len(said["off"]) == 10 and max(said["off"]) < 1e-5 for said in all_said)
    assert all(said["weights"] == all_said[0]["weights"] for said in all_said)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_mean_in_fewer_bits_is_close_and_the_same_everywhere(met, ranks):
    """Off by the last digits; by 1/256 of a number; by two halves of 1/127 of the largest in a block."""
    for said in met(ranks=ranks, MEET_STEPS=1, CLUSTERWRIGHT_OUTER='{"every": 1}'):
        assert all(alike for _, alike in said["bits"].values())
        assert said["bits"]["32"][0] < 1e-6
        assert 1e-4 < said["bits"]["16"][0] < 0.05
        assert 1e-4 < said["bits"]["8"][0] < 0.06
    assert BLOCK % 8 == 0


@pytest.mark.parametrize(("bits", "warm_up"), [(32, 0), (16, 5), (8, 0)])
def test_a_killed_training_resumes_bit_for_bit(toy, bits, warm_up):
    """Killed between two meetings, and saved between two: each rank has its own weights and moments again."""
    outer = {"every": 3, "bits": bits, "warm_up": warm_up}
    undisturbed = toy(name="undisturbed", outer=outer)
    toy(TOY_KILL="1:7", outer=outer)

    resumed = toy(outer=outer)
    assert resumed.codes == undisturbed.codes == [0, 0], resumed.log
    assert [event["step"] for event in resumed.events("resumed")] == [4]
    assert resumed.losses() == undisturbed.losses()
    assert resumed.weights() == undisturbed.weights()


def test_it_goes_on_with_another_number_of_ranks(toy):
    """From rank 0's weights and moments, which is said; the outer momentum is everybody's."""
    toy(ranks=4, outer={"every": 3}, TOY_KILL="1:7")

    resumed = toy(ranks=2, outer={"every": 3})
    assert resumed.codes == [0, 0], resumed.log
    assert (
        "step 4 was saved by a different number of ranks: all ranks continue with rank 0's weights"
        in resumed.log
    )
    assert [event["step"] for event in resumed.events("finished")] == [12]


def test_a_training_that_met_in_each_step_may_go_on_by_meeting_rarely(toy):
    """Nothing of outer steps is in its checkpoint; they begin at its weights."""
    toy(TOY_KILL="1:7")

    resumed = toy(outer={"every": 3})
    assert resumed.codes == [0, 0], resumed.log
    assert [event["step"] for event in resumed.events("resumed")] == [4]
    assert [event["step"] for event in resumed.events("finished")] == [12]


@pytest.mark.parametrize(
    "text",
    [
        '{"every": 0}',
        '{"every": 5, "lr": 0}',
        '{"every": 5, "momentum": 1}',
        '{"every": 5, "bits": 4}',
        '{"every": 5, "warm_up": -1}',
    ],
)
def test_what_cannot_be_is_refused(text):
    """With all that it may be."""
    with pytest.raises(ValueError, match="every must be at least 1"):
        settings.read({settings.VARIABLE: text})


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("run.track(model=model)", "outer: model is not in DistributedDataParallel"),
        ("runtime.start(seed=1, verify_every=4)", "verify_every compares replicas"),
    ],
)
def test_what_cannot_part_is_refused(train, tmp_path, program, words):
    """A model whose gradients cannot be kept at home; a comparison of what is to differ."""
    script = tmp_path / "script"
    script.with_suffix(".py").write_text(f"""
import torch
from clusterwright import runtime
run = runtime.start(seed=1)
model = torch.nn.Linear(2, 2)
{program}
""")
    refused = train(script=script, CLUSTERWRIGHT_OUTER='{"every": 3}')

    assert refused.codes == [1, 1]
    assert words in refused.log
