"""Batches that are read ahead, by as many processes as it takes, and the same samples whatever their number."""

import time

import pytest
import torch

from clusterwright.runtime import Feeder, Sampler, feeder, meter


class Slow(torch.utils.data.Dataset):
    """Samples that take their time to read, without using a processor."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 64

    def __getitem__(self, number):
        if self.seconds:
            time.sleep(self.seconds)
        return torch.tensor(int(number))


class Log:
    """What a run would write."""

    def __init__(self):
        self.said = []

    def record(self, event, **more):
        """Keep it."""
        self.said.append({"event": event, **more})


def trained(batches, steps, seconds=0.0):
    """The samples of so many steps, each of which takes some time."""
    seen = []
    for batch in batches:
        seen.append(batch.tolist())
        time.sleep(seconds)
        batches.batch_sampler.advance()
        if len(seen) == steps:
            return seen
    raise AssertionError("the batches ended")


@pytest.mark.parametrize(
    ("read_s", "train_s", "cpus", "workers"),
    [
        (0.0001, 0.1, 8, 0),  # a thousandth is worth no process
        (0.0009, 0.02, 8, 0),  # more than a hundredth, but no process hands it over as quickly
        (0.02, 0.1, 8, 1),
        (0.3, 0.1, 8, 4),
        (3.0, 0.1, 8, 7),  # one processor is the rank's
        (0.3, 0.1, 1, 1),  # a reader that waits for a disk needs none of its own
        (0.1, 0.0, 8, 7),
    ],
)
def test_how_many_follows_from_what_was_measured(read_s, train_s, cpus, workers):
    """The time to read over the time to train, with something to spare."""
    assert feeder.choose(read_s, train_s, cpus) == workers


def test_slow_reading_is_given_to_processes_and_no_sample_moves(monkeypatch):
    """Reading takes twice as long as training; the batches are those that the sampler deals in any case."""
    monkeypatch.setattr(meter.os, "sched_getaffinity", lambda _: set(range(8)))
    log = Log()
    batches = Feeder(Slow(0.01), Sampler(64, batch=4, seed=3))
    batches.log = log
    seen = trained(batches, 30, seconds=0.02)
    plain = iter(Sampler(64, batch=4, seed=3))

    assert seen == [list(map(int, next(plain))) for _ in range(30)]
    (told,) = log.said
    assert 2 <= told["workers"] <= 7
    assert told["read_s"] >= 0.04
    assert batches.workers == told["workers"]


def test_quick_reading_is_left_to_the_rank():
    """No process is started for what takes no time."""
    batches = Feeder(Slow(0.0), Sampler(64, batch=4, seed=3))
    trained(batches, 10, seconds=0.15)

    assert batches.workers == 0


@pytest.mark.parametrize("workers", [0, 2, None])
def test_no_number_is_drawn_from_the_models_generator(workers):
    """Dropout of a training is the same whatever reads for it, and whenever that was decided."""
    torch.manual_seed(5)
    wanted = torch.random.get_rng_state()
    trained(Feeder(Slow(0.0), Sampler(64, batch=4, seed=3), workers=workers), feeder.TRIAL + 2)

    assert torch.equal(torch.random.get_rng_state(), wanted)
