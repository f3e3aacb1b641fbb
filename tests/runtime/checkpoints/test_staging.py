"""The memory for saves is there before the first one, and stays there."""

import os
import resource
import signal
import threading
import time

import pytest

torch = pytest.importorskip("torch")

from tests.forks import forked

from clusterwright.runtime.checkpoints import ahead, part
from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.checkpoints.staging import Staging

pytestmark = pytest.mark.train
CPU = torch.device("cpu")
MIB = 1 << 20
LENGTH = 64 * MIB
MANY, FEW = LENGTH / 4096 / 8, 500  # faults; a system may have several pages made by one


def chunks(value, length=LENGTH):
    """A state of one tensor."""
    return [Chunk("w", torch.full((length,), value, dtype=torch.uint8))]


def taken(staging, value):
    """A state as it was staged; the pages that had to be made in this thread for it."""
    given = chunks(value)
    plan = staging.plan(given)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    staged = staging.stage(plan, given)
    faults = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before
    (place,) = part.places(plan, staged)
    assert bool((place == value).all())
    return staged, faults


def prepared(staging):
    """All memory is there."""
    made = staging.prepare(LENGTH)
    end = time.monotonic() + 60
    while made.busy:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def small_pages(monkeypatch):
    """Memory without huge pages, so that the number of faults is that of its pages on any system."""
    # no seam: whether there are huge pages is the machine's to say
    monkeypatch.setattr(ahead.mmap, "MADV_HUGEPAGE", ahead.mmap.MADV_NOHUGEPAGE)


@pytest.mark.usefixtures("small_pages")
def test_what_was_prepared_is_not_made_in_the_first_save():
    """Without it, as many faults as there are pages, or nearly so; the second state may have grown a little."""
    assert taken(Staging(CPU), 1)[1] > MANY

    staging = Staging(CPU)
    prepared(staging)
    assert taken(staging, 2)[1] < FEW


def test_a_save_that_comes_before_all_is_prepared_is_right_and_waits_for_a_slice_at_most():
    """What was staged is not touched any more."""
    staging = Staging(CPU)
    made = staging.prepare(LENGTH)
    staged, _ = taken(staging, 3)

    assert not made.busy
    assert int(staged[-1]) == 3
    assert "ahead" not in [each.name for each in threading.enumerate()]


@pytest.mark.usefixtures("small_pages")
def test_a_fork_does_not_make_the_next_save_slow():
    """As data workers are forked at each epoch: a page that they share would be copied before it is written."""
    staging = Staging(CPU)
    first, _ = taken(staging, 1)
    child = forked(signal.pause)
    try:
        second, faults = taken(staging, 2)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    assert second.data_ptr() == first.data_ptr()
    assert faults < FEW


def test_a_state_that_has_grown_a_little_needs_no_new_memory():
    """One that has grown much does."""
    staging = Staging(CPU)
    before = staging.stage(staging.plan(chunks(1)), chunks(1)).data_ptr()
    grown = chunks(2, LENGTH + MIB // 2)
    assert staging.stage(staging.plan(grown), grown).data_ptr() == before

    grown = chunks(3, 2 * LENGTH)
    assert bool((staging.stage(staging.plan(grown), grown)[-2 * LENGTH :] == 3).all())


@pytest.mark.usefixtures("small_pages")
def test_the_last_tenth_of_the_machines_memory_is_not_taken_ahead(monkeypatch):
    """The first save makes it then."""
    # no seam: a machine without memory left cannot be had
    monkeypatch.setattr(ahead, "_SPARED", 1.0)
    staging = Staging(CPU)
    prepared(staging)

    assert taken(staging, 2)[1] > MANY
