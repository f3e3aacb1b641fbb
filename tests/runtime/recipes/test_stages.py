"""A pipeline's stages are the same training as one rank alone, and hand their checkpoints to any other layout."""

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.runtime.recipes import stages

pytestmark = pytest.mark.train

DATA = ["--context", 16, "--text-bytes", 100_000, "--evaluate-samples", 7, "--evaluate-every", 6]
STEPS = ["--batch", 8, "--microbatch", 1, "--warmup", 4]
LLAMA = ["--layers", 4, "--width", 32, "--inner", 48, "--heads", 4, "--kv-heads", 2, *DATA, *STEPS]
GPT = ["--layers", 4, "--width", 32, "--heads", 4, "--dropout", 0, *DATA, *STEPS]

LAYOUTS = [
    ("gpt", 2, {"pipeline": 2}, 3),
    ("gpt", 4, {"pipeline": 2, "shard": "full"}, 2),
    ("gpt", 4, {"pipeline": 2, "schedule": "afab", "recompute": "full"}, 1),
    ("llama", 2, {"pipeline": 2}, 3),
    ("llama", 4, {"pipeline": 4}, 2),
    ("llama", 4, {"pipeline": 2, "tensor": 2}, 3),
    ("llama", 4, {"pipeline": 2, "context": 2}, 3),
    ("llama", 8, {"pipeline": 2, "tensor": 2, "shard": "full"}, 1),
    ("llama", 8, {"pipeline": 4, "shard": "gradients"}, 1),
    ("llama", 8, {"pipeline": 2, "shard": "full", "shard_group": 2}, 1),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_stages_are_the_same_training(recipe, numbers, measured, layout):
    """Losses and the evaluation are those of one rank, but for the order of sums in float32."""
    name, ranks, parallel, microbatch = layout
    small = {"gpt": GPT, "llama": LLAMA}[name]
    alone = recipe(name, *small, "--steps", 6, folder="alone")
    cut = recipe(
        name, *small, "--steps", 6, "--microbatch", microbatch, ranks=ranks, parallel=parallel, folder="cut"
    )

    assert alone.codes == [0], alone.log
    assert cut.codes == [0] * ranks, cut.log
    assert numbers(cut) == pytest.approx(numbers(alone), rel=1e-4)
    assert measured(cut, "validation") == pytest.approx(measured(alone, "validation"), rel=1e-4)


@pytest.mark.parametrize(
    ("name", "small", "ranks", "parallel"),
    [
        ("gpt", [*GPT, "--dropout", 0.1], 2, {"pipeline": 2}),
        ("llama", LLAMA, 4, {"pipeline": 2, "tensor": 2}),
        ("llama", LLAMA, 4, {"pipeline": 2, "shard": "full"}),
    ],
    ids=str,
)
def test_stages_resume_bit_for_bit(recipe, name, small, ranks, parallel):
    """Stopped after 3 steps and asked for more, dropouts and all: as if they had never stopped."""
    how = {"ranks": ranks, "parallel": parallel}
    more = [name, *small, "--warmup", 50]
    whole = recipe(*more, "--steps", 6, folder="whole", **how)
    recipe(*more, "--steps", 3, **how)
    parts = recipe(*more, "--steps", 6, **how)

    assert whole.codes == parts.codes == [0] * ranks, parts.log
    assert parts.losses() == whole.losses()


@pytest.mark.parametrize("between", [(1, {}), (2, {"shard": "full"}), (4, {"pipeline": 4})], ids=str)
def test_stages_go_on_in_another_layout_and_back(recipe, numbers, between):
    """Begun by two stages, taken over by others, then by the two again: weights and moments keep their names."""
    ranks, parallel = between
    more = ["llama", *LLAMA, "--warmup", 50]
    whole = recipe(*more, "--steps", 9, folder="whole")
    recipe(*more, "--steps", 3, ranks=2, parallel={"pipeline": 2})
    recipe(*more, "--steps", 6, ranks=ranks, parallel=parallel)
    parts = recipe(*more, "--steps", 9, ranks=2, parallel={"pipeline": 2})

    assert parts.codes == [0, 0], parts.log
    assert numbers(parts) == pytest.approx(numbers(whole), rel=1e-4)
    assert [event["step"] for event in parts.events("resumed")] == [3, 6]


@pytest.mark.parametrize("parallel", [{"pipeline": 2}, {"pipeline": 2, "tensor": 2}], ids=str)
def test_weights_of_stages_are_loaded_and_saved_whole(recipe, tmp_path, parallel):
    """With a learning rate of nothing, what the stages save is what one rank saved and they began with, bit for bit."""
    ranks = parallel["pipeline"] * parallel.get("tensor", 1)
    recipe("llama", *LLAMA, "--steps", 1, "--save", tmp_path / "one", folder="one")
    still = ["--learning-rate", 0, "--weight-decay", 0, "--steps", 2, "--save", tmp_path / "two"]
    two = recipe(
        "llama", *LLAMA, *still, "--model", tmp_path / "one", ranks=ranks, parallel=parallel, folder="two"
    )

    assert two.codes == [0] * ranks, two.log
    one, two = (safetensors.load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(
    ("more", "parallel", "words"),
    [
        (["--layers", 3], {"pipeline": 2}, "pipeline 2 does not divide 3 layers"),
        (["--layers", 1], {"pipeline": 2}, "pipeline 2 exceeds the number of layers, 1"),
        (["--microbatch", 8], {"pipeline": 2}, "--microbatch 8: microbatches per replica: 1, but"),
        ([], {"pipeline": 2, "schedule": "zb-h1"}, "schedule: zb-h1: recipes support 1f1b, afab"),
        (["--compile"], {"pipeline": 2}, "pipeline excludes --compile and --precision fp16"),
        (["--batch", 5, "--microbatch", 2], {"shard": "full"}, "replica: 1 on some and 2 on others"),
        ([], {"pipeline": 4}, "pipeline 4 x context 1: 4 ranks per replica do not divide 2 ranks"),
    ],
)  # fmt: skip
def test_what_cannot_be_dealt_out_is_refused(recipe, more, parallel, words):
    """Both sides are said, and no rank waits for another."""
    refused = recipe("llama", *LLAMA, *more, ranks=2, parallel=parallel)

    assert refused.codes == [1, 1]
    assert words in refused.log


def test_a_model_without_a_list_of_layers_has_no_stages(recipe):
    """A ResNet's are of different sizes."""
    refused = recipe("resnet", "--width", 4, "--microbatch", 8, ranks=2, parallel={"pipeline": 2})

    assert refused.codes == [1, 1]
    assert "parallel: pipeline: ResNet has no layers to split into stages" in refused.log


@given(
    st.sampled_from(stages.SCHEDULES), st.integers(1, 6), st.integers(0, 5), st.integers(1, 12)
)  # fmt: skip
def test_every_microbatch_goes_forth_once_and_then_back(schedule, count, index, pieces):
    """In their order; 1f1b keeps no more of them than there are stages from this one on."""
    index = min(index, count - 1)
    passes = list(stages.order(schedule, index, count, pieces))
    open_at = [sum(1 if forth else -1 for forth, _ in passes[: n + 1]) for n in range(len(passes))]

    assert [number for forth, number in passes if forth] == list(range(pieces))
    assert [number for forth, number in passes if not forth] == list(range(pieces))
    assert min(open_at) >= 0
    assert max(open_at) == (pieces if schedule == "afab" else min(pieces, count - index))
