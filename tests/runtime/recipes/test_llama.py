"""The recipe is the same training in every layout, and resumes exactly."""

import itertools
import math
from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from clusterwright.runtime.recipes import text

pytestmark = pytest.mark.train

# 16 positions divide into 2 chunks for each of 2 ranks, and over a tensor group of 2 after that
SMALL = [
    "--layers", 2, "--width", 32, "--inner", 48, "--heads", 4, "--kv-heads", 2, "--batch", 8, "--microbatch", 3,
    "--context", 16, "--text-bytes", 100_000, "--warmup", 4, "--evaluate-samples", 7, "--evaluate-every", 6,
]  # fmt: skip

HUGGING_FACE = Path(__file__).parent / "data" / "llama"

LAYOUTS = [
    (2, {}),
    (2, {"shard": "full"}),
    (2, {"tensor": 2}),
    (2, {"context": 2}),
    (4, {"shard": "full", "shard_group": 2}),
    (4, {"shard": "gradients", "tensor": 2, "recompute": "full"}),
    (4, {"tensor": 2, "context": 2}),
]


@pytest.mark.parametrize(("ranks", "parallel"), LAYOUTS, ids=str)
def test_every_layout_is_the_same_training(recipe, numbers, measured, ranks, parallel):
    """Losses and the evaluation are those of one rank, but for the order of sums in float32.

    One sum in another order is 1e-7 off; six steps of Adam, which divides by small numbers, make at most 1e-4 of it.
    """
    alone = recipe("llama", *SMALL, "--steps", 6, folder="alone")
    cut = recipe("llama", *SMALL, "--steps", 6, ranks=ranks, parallel=parallel, folder="cut")

    assert alone.codes == [0], alone.log
    assert cut.codes == [0] * ranks, cut.log
    assert numbers(cut) == pytest.approx(numbers(alone), rel=1e-4)
    assert measured(cut, "validation") == pytest.approx(measured(alone, "validation"), rel=1e-4)


@pytest.mark.parametrize(
    ("ranks", "parallel"), [(2, {}), (2, {"shard": "full"}), (2, {"tensor": 2}), (2, {"context": 2})], ids=str
)
def test_it_resumes_bit_for_bit(recipe, ranks, parallel):
    """Stopped after 3 steps and asked for more: as if it had never stopped."""
    how = {"ranks": ranks, "parallel": parallel}
    more = ["llama", *SMALL, "--warmup", 50]
    whole = recipe(*more, "--steps", 6, folder="whole", **how)
    recipe(*more, "--steps", 3, **how)
    parts = recipe(*more, "--steps", 6, **how)

    assert whole.codes == parts.codes == [0] * ranks, parts.log
    assert parts.losses() == whole.losses()


def test_it_goes_on_in_another_layout(recipe, numbers):
    """Begun by two shards, taken over by a tensor group of two with two replicas, then by one rank alone."""
    more = ["llama", *SMALL, "--warmup", 50]
    whole = recipe(*more, "--steps", 9, folder="whole")
    recipe(*more, "--steps", 3, ranks=2, parallel={"shard": "full"})
    recipe(*more, "--steps", 6, ranks=4, parallel={"tensor": 2, "shard": "full"})
    parts = recipe(*more, "--steps", 9)

    assert parts.codes == [0], parts.log
    assert numbers(parts) == pytest.approx(numbers(whole), rel=1e-4)
    assert [event["step"] for event in parts.events("resumed")] == [3, 6]


@pytest.mark.parametrize("parallel", [{"shard": "full"}, {"tensor": 2}], ids=str)
def test_weights_in_parts_are_loaded_and_saved_whole(recipe, tmp_path, parallel):
    """With a learning rate of nothing, what two ranks save is what one rank saved and they began with, bit for bit."""
    recipe("llama", *SMALL, "--steps", 1, "--save", tmp_path / "one", folder="one")
    still = ["--learning-rate", 0, "--weight-decay", 0, "--steps", 2, "--save", tmp_path / "two"]
    two = recipe(
        "llama", *SMALL, *still, "--model", tmp_path / "one", ranks=2, parallel=parallel, folder="two"
    )

    assert two.codes == [0, 0], two.log
    one, two = (safetensors.load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(
    ("more", "parallel", "words"),
    [
        (["--model", HUGGING_FACE], {}, "vocab_size 29 is too small: the tokenizer has 256 tokens"),
        (["--kv-heads", 1], {"tensor": 2}, "num_key_value_heads 1 does not divide over a tensor group of 2"),
        (["--context", 15], {"tensor": 2}, "15 positions do not divide over a tensor group of 2"),
        (
            ["--context", 18],
            {"context": 2},
            "a sequence of 18 does not divide into 2 chunks for each of 2 ranks",
        ),
        (["--batch", 1], {}, "--batch 1 leaves some of 2 replicas without a sample"),
        ([], {"recompute": "selective"}, "recompute: selective"),
    ],
)
def test_what_does_not_divide_is_refused(recipe, more, parallel, words):
    """Both sides are said, and no rank waits for another."""
    refused = recipe("llama", *SMALL, *more, ranks=2, parallel=parallel)

    assert refused.codes == [1, 1]
    assert words in refused.log


def test_it_does_not_go_on_with_other_text(recipe):
    """Samples would be repeated, or left out."""
    recipe("llama", *SMALL, "--steps", 2)
    refused = recipe("llama", *SMALL, "--steps", 4, "--text-bytes", 150_000)

    assert refused.codes == [1]
    assert "the dataset has changed since the checkpoint" in refused.log


def test_it_learns_more_than_which_byte_follows_which(recipe, numbers):
    """After one look at the text its loss is below the entropy of a byte given the one before it, in that very text."""
    how = ["--width", 64, "--inner", 128, "--layers", 2, "--microbatch", 32, "--learning-rate", 6e-3]
    trained = recipe("llama", *how, "--text-bytes", 200_000, "--steps", 160, "--evaluate-every", 160)

    losses = numbers(trained)
    assert trained.codes == [0], trained.log
    assert sum(losses[step] for step in range(141, 161)) / 20 < entropy_of_pairs(200_000)


def entropy_of_pairs(limit):
    """Of a byte, given the one before it, in nats."""
    training, _ = text.read("", context=64, limit=limit)
    whole = training.windows(range(len(training)), torch.device("cpu"))[:, :-1].flatten().tolist()
    pairs, ones = Counter(itertools.pairwise(whole)), Counter(whole[:-1])
    return -sum(n * math.log(n / ones[a]) for (a, _), n in pairs.items()) / (len(whole) - 1)
