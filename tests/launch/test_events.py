import pytest

from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.errors import WrightError
from clusterwright.launch.events import LocalReader, RemoteReader, ended, events, parse_events, wait
from clusterwright.launch.run import RunFolder


@pytest.fixture
def run(tmp_path):
    """A run with two writers."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "a.jsonl").write_text('{"time": 2, "event": "step", "step": 1}\n{"time": 3, "ev')
    (tmp_path / "events" / "b.jsonl").write_text('{"time": 1, "event": "job_start"}\n')
    return RunFolder("r", "1", str(tmp_path))


def test_events_of_all_writers_are_in_order_of_time(run):
    """A torn line is passed over."""
    assert [event["event"] for event in events(run, LocalReader())] == ["job_start", "step"]


def test_lines_that_are_no_events_are_passed_over():
    """A scalar, a list, an object without a time."""
    assert parse_events(["1", "[]", '{"event": "x"}', "", '{"time": 5, "event": "y"}']) == (
        {"time": 5, "event": "y"},
    )


def test_events_are_read_over_a_remote(run):
    """With one command on the host that has them."""
    remote = FakeRemote(lambda host, command, stdin: '{"time": 1, "event": "job_start"}\n')

    assert len(events(run, RemoteReader(remote, "control"))) == 1
    assert len(remote.calls) == 1


def test_a_run_that_goes_on_has_not_ended(run, tmp_path):
    """And one that has says how."""
    assert ended(run, LocalReader()) is None

    (tmp_path / "ended.json").write_text('{"outcome": "no-progress", "code": 4, "reason": "again"}')

    assert ended(run, LocalReader()).code == 4


def test_waiting_has_a_limit(run):
    """The error names the command that shows more."""
    with pytest.raises(WrightError, match="wright logs -f r"):
        wait(run, LocalReader(), limit_s=60, clock=FakeClock())
