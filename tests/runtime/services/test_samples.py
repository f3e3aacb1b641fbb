"""What a training is fed, through workers and random transformations, killed and resumed in every way."""

import random

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import Sampler
from clusterwright.runtime.services.samples import Reproducible, sample_seed

pytestmark = pytest.mark.train


def fed(trained):
    """The samples of each step over all ranks, each with what was drawn for it; a step done again had the same."""
    steps = {}
    for path in sorted(trained.folder.glob("fed-*")):
        for line in path.read_text().splitlines():
            step, *sample = line.split()
            steps.setdefault(int(step), set()).add(tuple(sample))
    return steps


@pytest.fixture
def undisturbed(train):
    """What is fed when nothing happens, in this process: 12 steps of 8 out of 23 samples, so four epochs and more."""
    trained = train(script="loading", name="undisturbed")
    assert trained.codes == [0, 0], trained.log
    assert [len(samples) for samples in fed(trained).values()] == [8] * 12
    return trained


@pytest.mark.parametrize(
    "how",
    [{"TOY_WORKERS": 0}, {"TOY_WORKERS": 2}, {"TOY_WORKERS": 2, "TOY_PERSISTENT": 1}],
    ids=["no workers", "two workers", "two that stay"],
)
def test_killed_twice_in_an_epoch_it_is_fed_the_same_bit_for_bit(train, undisturbed, how):
    """Samples and what was drawn for them, with workers that had read ahead, whatever number there is of them."""
    train(script="loading", TOY_KILL="1:6", **how)
    train(script="loading", TOY_KILL="0:10", **how)

    resumed = train(script="loading", **how)
    assert resumed.codes == [0, 0], resumed.log
    assert [event["step"] for event in resumed.events("resumed")] == [4, 8]
    assert fed(resumed) == fed(undisturbed)
    assert resumed.losses() == undisturbed.losses()


@pytest.mark.parametrize("ranks", [1, 3])
def test_another_number_of_ranks_is_fed_the_same(train, undisturbed, ranks):
    """Each step has the same samples, and each sample the same was drawn for; they are only dealt out otherwise."""
    train(script="loading", TOY_KILL="1:6", TOY_WORKERS=2)

    resumed = train(script="loading", ranks=ranks, TOY_WORKERS=2)
    assert set(resumed.codes) == {0}, resumed.log
    assert fed(resumed) == fed(undisturbed)


def test_an_epoch_draws_anew():
    """The same sample is not transformed alike each time it is seen."""
    first = [sample_seed(number) for number in next(iter(Sampler(8, batch=16)))]
    second = [sample_seed(number, seed=1) for number in next(iter(Sampler(8, batch=16)))]

    assert len(set(first)) == 16
    assert not set(first) & set(second)
    assert sample_seed(3) == sample_seed(3)


def test_what_is_drawn_elsewhere_is_not_disturbed():
    """Dropout in the model draws from the same source as a transformation without workers."""

    class Drawing:
        def __getitem__(self, number):
            return random.random(), torch.rand(())

        def __len__(self):
            return 5

    data = Reproducible(Drawing())
    random.seed(1)
    torch.manual_seed(1)
    before = random.random(), torch.rand(())
    random.seed(1)
    torch.manual_seed(1)
    again = data[2]

    assert (random.random(), torch.rand(())) == before
    assert data[2] == again != data[3]
    assert len(data) == 5


def test_a_stream_that_knows_its_position_goes_on_there(train):
    """Each rank its own; none of its numbers comes twice, none is left out."""
    train(script="loading", TOY_STREAM=1, TOY_KILL="1:6")
    resumed = train(script="loading", TOY_STREAM=1)

    assert resumed.codes == [0, 0], resumed.log
    for rank in (0, 1):
        numbers = {
            int(sample[0])
            for step in fed(resumed).values()
            for sample in step
            if int(sample[0]) // 1000 == rank
        }
        assert numbers == set(range(1000 * rank + 1, 1000 * rank + 49))


def test_a_stream_is_refused_to_other_ranks(train):
    """Where each was is known, and nothing else."""
    train(script="loading", TOY_STREAM=1, TOY_KILL="1:6")
    resumed = train(script="loading", TOY_STREAM=1, ranks=1)

    assert resumed.codes == [1]
    assert "the number of ranks has changed since step 4" in resumed.log


def test_a_stream_read_ahead_by_workers_is_refused(train):
    """Its position is in the workers, and further on than the training."""
    refused = train(script="loading", TOY_STREAM=1, TOY_WORKERS=2)

    assert refused.codes == [1, 1]
    assert "with 2 prefetching workers" in refused.log
