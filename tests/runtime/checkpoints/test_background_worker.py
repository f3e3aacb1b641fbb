"""Work beside another: all of it is done when it ends, or the first error is raised."""

import threading

import pytest

from clusterwright.runtime.checkpoints.background_worker import BackgroundWorker

pytestmark = pytest.mark.train


@pytest.mark.parametrize("count", [0, 1, 7, 8, 500])
def test_all_is_done_when_it_ends(count):
    """Little work as well as much."""
    done = []
    with BackgroundWorker() as beside:
        for number in range(count):
            beside.do(done.append, number)

    assert sorted(done) == list(range(count))


def test_much_of_it_is_done_in_another_thread_meanwhile():
    """The last of four batches is waited for before the end."""
    seen, last = [], threading.Event()
    with BackgroundWorker() as beside:
        for _ in range(31):
            beside.do(lambda: seen.append(threading.current_thread()))
        beside.do(last.set)
        assert last.wait(10)

    assert len(seen) == 31
    assert threading.current_thread() not in seen


def test_what_is_left_at_the_end_is_shared():
    """A thread that gets no core keeps nobody waiting for more than what it has begun."""
    begun, held, done = threading.Event(), threading.Event(), []
    with BackgroundWorker() as beside:
        beside.do(begun.set)
        for _ in range(7):
            beside.do(held.wait, 10)
        for number in range(23):
            beside.do(done.append, number)
        beside.do(held.set)
        assert begun.wait(10)

    assert done == list(range(23))


@pytest.mark.parametrize("count", [1, 500])
def test_what_fails_is_raised_at_the_end_and_nothing_more_is_done(count):
    """Each of the two threads may have met one."""
    done = []

    def fail(number):
        done.append(number)
        raise ValueError(f"number {number}")

    def work():
        with BackgroundWorker() as beside:
            for number in range(count):
                beside.do(fail, number)

    with pytest.raises(ValueError, match="number"):
        work()
    assert 1 <= len(done) <= 2


def test_an_error_outside_is_not_hidden_by_one_inside():
    """It came first."""

    def work():
        with BackgroundWorker() as beside:
            beside.do(int, "inside")
            raise OSError("outside")

    with pytest.raises(OSError, match="outside"):
        work()
