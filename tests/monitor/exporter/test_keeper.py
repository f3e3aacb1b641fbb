"""Collectors that hang, fail, talk too much or end: none of them holds a scrape, or another collector."""

import os
import signal
import time
from types import SimpleNamespace

import pytest

from clusterwright.onhost.exporter import collector_process, keeper
from clusterwright.onhost.exporter.text import gauge


class Collector(SimpleNamespace):
    """A module in miniature; `does` is given the state."""

    def __init__(self, does, *, every_s=0.2, timeout_s=1.0, stays=True):
        super().__init__(EVERY_S=every_s, TIMEOUT_S=timeout_s, STAYS=stays, __doc__="One.")
        self.does = does

    def collect(self, _settings, state):
        """Yield what it does."""
        yield gauge("x", "y").add(self.does(state))


def counting(state):
    """How often this process was asked."""
    state["asked"] = state.get("asked", 0) + 1
    return state["asked"]


def sleeping(_state):
    """Like a call into a driver that hangs."""
    time.sleep(600)


@pytest.fixture
def run(settings):
    """`run(collectors, until)`: a keeper of those, turned until it is so."""
    kept = []

    def start(collectors, until, limit_s=60):
        found = keeper.Keeper(settings())
        found.collector_processes = [
            collector_process.CollectorProcess(name, each, settings(), keeper.log)
            for name, each in collectors.items()
        ]
        kept.append(found)
        end = time.monotonic() + limit_s
        while not until(found):
            assert time.monotonic() < end, [(each.name, each.reason) for each in found.collector_processes]
            found.turn()
        return found

    yield start
    for each in kept:
        each.end()


def said(found, name):
    """What lies there to be scraped."""
    with open(f"{found.settings.run}/{name}.prom") as file:
        return file.read()


def test_a_process_that_stays_is_asked_again(run):
    """And has its state."""
    found = run({"a": Collector(counting)}, lambda one: "x 3" in one.collector_processes[0].text)

    assert "clusterwright_x 3\n" in said(found, "a")


def test_one_that_does_not_stay_is_new_each_time(run):
    """Nothing is left of it between."""
    times = []
    found = run(
        {"a": Collector(counting, stays=False)},
        lambda one: times.append(one.collector_processes[0].success_time) or len(set(times)) > 3,
    )

    assert "clusterwright_x 1\n" in said(found, "a")
    assert found.collector_processes[0].pipe is None


def test_one_that_hangs_is_ended_and_the_others_go_on(run):
    """Its values go; that it is down is said."""
    hangs = Collector(lambda state: counting(state) if not state else sleeping(state))
    found = run(
        {"hangs": hangs, "works": Collector(counting)},
        lambda one: one.collector_processes[0].up is False and one.collector_processes[1].up,
    )

    assert said(found, "hangs") == ""
    assert 'clusterwright_collector_up{collector="hangs"} 0\n' in said(found, "exporter")
    assert 'clusterwright_collector_up{collector="works"} 1\n' in said(found, "exporter")
    assert "no result in 1 s" in found.collector_processes[0].reason


def test_one_that_fails_says_why_and_comes_back(run, capfd):
    """Told once, however often it fails."""
    flag = []

    def fails(_state):
        if not os.path.exists(flag[0]):
            raise RuntimeError("the driver said no")
        return 7

    flag.append("/proc/self/none")
    failing = run(
        {"a": Collector(fails)},
        lambda one: (
            one.collector_processes[0].up is False and one.collector_processes[0].due > time.monotonic() + 0.5
        ),
    )
    flag[0] = "/proc/self"
    failing.collector_processes[0].due = 0
    while not failing.collector_processes[0].up:
        failing.turn()

    assert said(failing, "a").endswith("clusterwright_x 7\n")
    told = capfd.readouterr().err
    assert told.count("RuntimeError: the driver said no") == 1
    assert "works again" in told


def test_rests_grow_and_have_an_end(settings):
    """A driver that hangs for days is asked every two minutes."""
    one = collector_process.CollectorProcess(
        "a", Collector(counting, every_s=10), settings(), lambda _text: None
    )
    rests = []
    for now in range(0, 1000, 100):
        one._fail(now, "reason")
        rests.append(one.due - now)

    assert rests[:5] == [10, 20, 40, 80, 120]
    assert rests[-1] == 120


def test_one_that_talks_without_end_is_ended(run, monkeypatch):
    """Memory of who keeps it has a bound."""
    monkeypatch.setattr(collector_process, "MOST_BYTES", 1000)

    class Much(Collector):
        def collect(self, _settings, _state):
            yield from (gauge(f"x{number}", "y").add(1) for number in range(1000))

    found = run({"a": Much(counting)}, lambda one: one.collector_processes[0].up is False)

    assert "is larger than 1000 bytes" in found.collector_processes[0].reason


def test_one_whose_process_is_killed_is_started_again(run):
    """As the kernel does where memory runs out."""
    found = run({"a": Collector(counting)}, lambda one: one.collector_processes[0].up)
    os.kill(found.collector_processes[0]._child.pid, signal.SIGKILL)
    pid = found.collector_processes[0]._child.pid
    end = time.monotonic() + 30
    while not (
        found.collector_processes[0].up
        and found.collector_processes[0]._child
        and found.collector_processes[0]._child.pid != pid
    ):
        assert time.monotonic() < end
        found.turn()

    assert "clusterwright_x" in found.collector_processes[0].text


def test_one_that_the_kernel_holds_is_not_joined_by_another(run, monkeypatch):
    """A process that cannot be killed keeps its place."""
    found = run({"a": Collector(sleeping)}, lambda one: one.collector_processes[0].up is False)
    child = found.collector_processes[0]._child
    monkeypatch.setattr(child, "ended", lambda: False)
    for now in (1e9, 2e9):
        found.collector_processes[0].tend(now, now)

    assert found.collector_processes[0]._child is child
    assert found.collector_processes[0].pipe is None


def test_nothing_is_left_when_it_ends(run):
    """No process of a collector."""
    found = run(
        {"a": Collector(counting), "b": Collector(sleeping)}, lambda one: one.collector_processes[0].up
    )
    pids = [each._child.pid for each in found.collector_processes]
    found.end()
    for each in found.collector_processes:
        each._child.wait()

    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
