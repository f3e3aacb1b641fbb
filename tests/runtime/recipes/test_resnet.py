"""The recipe learns digits, and is the same training on any number of ranks where its norm is shared."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.recipes.models.resnet import ResNet

pytestmark = pytest.mark.train

SMALL = ["--width", 4, "--batch", 16, "--evaluate-samples", 21, "--microbatch", 16, "--warmup", 4]


def test_it_learns_the_digits(recipe, measured):
    """More than 95 % of digits that it has never seen are recognised."""
    trained = recipe("resnet", "--width", 16, "--steps", 200, "--evaluate-every", 200)

    assert trained.codes == [0], trained.log
    assert measured(trained, "top1") > 0.95


@pytest.mark.parametrize(
    ("ranks", "parallel"),
    [(2, {}), (4, {}), (2, {"shard": "full"}), (4, {"shard": "full", "shard_group": 2})],
    ids=str,
)
def test_every_layout_is_the_same_training(recipe, numbers, measured, ranks, parallel):
    """With a norm over all ranks' samples, only the order of sums in float32 differs."""
    how = ["resnet", *SMALL, "--norm", "shared", "--steps", 5, "--evaluate-every", 5]
    alone = recipe(*how, folder="alone")
    cut = recipe(*how, ranks=ranks, parallel=parallel, folder="cut")

    assert cut.codes == [0] * ranks, cut.log
    assert numbers(cut) == pytest.approx(numbers(alone), rel=1e-3)
    assert measured(cut, "validation") == pytest.approx(measured(alone, "validation"), rel=1e-3)


@pytest.mark.parametrize("parallel", [{}, {"shard": "full"}], ids=str)
def test_it_resumes_bit_for_bit(recipe, parallel):
    """Stopped after 3 steps and asked for more, with what norms remember: as if it had never stopped."""
    how = {"ranks": 2, "parallel": parallel}
    more = [*SMALL, "--evaluate-every", 3, "--warmup", 50]
    whole = recipe("resnet", *more, "--steps", 6, folder="whole", **how)
    recipe("resnet", *more, "--steps", 3, **how)
    parts = recipe("resnet", *more, "--steps", 6, **how)

    assert whole.codes == parts.codes == [0, 0], parts.log
    assert parts.losses() == whole.losses()
    assert [e["value"] for e in parts.events("measure")] == [e["value"] for e in whole.events("measure")]


@pytest.mark.parametrize(
    ("depth", "count"), [(18, 11_689_512), (34, 21_797_672), (50, 25_557_032), (101, 44_549_160)]
)
def test_it_has_as_many_parameters_as_everywhere(depth, count):
    """Those that torchvision prints for its own."""
    with torch.device("meta"):
        made = ResNet(depth, 1000)

    assert sum(each.numel() for each in made.parameters()) == count
