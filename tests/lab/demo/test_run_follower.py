"""When to strike whom, and what is told of a training under way."""

import pytest

from clusterwright.edge.fakes import FakeClock
from clusterwright.errors import WrightError
from clusterwright.lab.demo.events import DemoEvent, parse_events
from clusterwright.lab.demo.run_follower import RunFollower, fault_step, is_time_for_fault, narrate, victim
from clusterwright.lab.demo.talk import Talk
from clusterwright.launch.events import LocalReader
from clusterwright.launch.run import RunFolder


class Leaping(FakeClock):
    """A clock on which every wait is long."""

    def sleep(self, seconds):
        """A thousand times as long."""
        super().sleep(1000 * seconds)


@pytest.mark.parametrize(("steps", "every", "at"), [(300, 25, 162), (60, 10, 35), (40, 40, 20)])
def test_the_strike_falls_between_two_checkpoints(steps, every, at):
    """Far from both, so that steps are lost, and never more than an interval."""
    assert fault_step(steps, every) == at


def before(events, step):
    """The events of the first generation, up to a step."""
    first = [event for event in events if event.generation < 2]
    later = [event for event in events if event.generation > 1 and event.kind in {"step", "checkpoint"}]
    return [event for event in (*first, *later) if event.step <= step]


def test_two_checkpoints_are_waited_for(lost_host):
    """A training with nothing to go back to is not struck."""
    events = parse_events(lost_host[0])[0]

    assert is_time_for_fault(before(events, 36), 30, 10)
    assert not is_time_for_fault(
        [event for event in before(events, 36) if event.kind != "checkpoint"], 30, 10
    )
    assert not is_time_for_fault(before(events, 29), 30, 10)


def test_the_edges_of_an_epoch_and_of_an_interval_are_avoided(lost_host):
    """Step 31 follows a checkpoint, step 46 nearly ends an epoch of 24; much later that is all one."""
    events = parse_events(lost_host[0])[0]

    assert not is_time_for_fault(before(events, 31), 30, 10)
    assert not is_time_for_fault(before(events, 46), 36, 10)
    assert is_time_for_fault(before(events, 46), 30, 10)


def test_the_victim_trains_and_is_not_the_batch_host(lost_host):
    """The supervisor's own host is another story: its successor takes over."""
    first = [event for event in parse_events(lost_host[0])[0] if event.generation < 2]

    assert victim(first) == "gpu-node2"
    assert victim([]) is None


def test_each_event_of_interest_is_told_in_plain_words(lost_host):
    """What a person sees while it runs."""
    events = parse_events(lost_host[0])[0]

    said = [line for event in events if (line := narrate(event, events))]
    assert said[0] == "generation 1 trains on gpu-node1, gpu-node2"
    assert "gpu-node2 is lost: no heartbeat for 5.1 s" in said
    assert "the ranks resume from step 30" in said
    assert said[-1].startswith("finished after step 60, loss 0.9")
    assert len(said) == len(set(said))


@pytest.fixture
def run(tmp_path, lost_host):
    """The folder of the run, as it is at its end."""
    (tmp_path / "events").mkdir()
    for number, text in enumerate(lost_host[0]):
        (tmp_path / "events" / f"{number}.jsonl").write_text(text)
    return RunFolder("gpt-small", "7", str(tmp_path))


def test_a_course_tells_each_event_once(run):
    """However often it looks."""
    said = []
    course = RunFollower(run, LocalReader(), Talk(said.append, FakeClock()), FakeClock())

    course.poll()
    before = list(said)
    course.poll()
    assert said == before
    assert len(course.events) > 100


def test_a_training_that_ends_too_early_is_an_error_with_its_last_words(run, tmp_path):
    """The reason stands in the job's own output."""
    (tmp_path / "ended.json").write_text('{"outcome": "failed", "reason": "a rank failed", "code": 1}')
    (tmp_path / "slurm-7.out").write_text("Traceback: no such text\n")
    course = RunFollower(run, LocalReader(), Talk(lambda _: None, FakeClock()), FakeClock())

    with pytest.raises(WrightError, match=r"(?s)failed, a rank failed.*no such text"):
        course.wait_until(lambda _events: False, "step 99")


def test_a_training_that_hangs_is_an_error_in_the_end(run):
    """The demo does not wait for ever."""
    course = RunFollower(run, LocalReader(), Talk(lambda _: None, FakeClock()), Leaping())

    with pytest.raises(WrightError, match="900 s passed"):
        course.wait_until(lambda _events: False, "step 99")


def test_a_line_of_an_event_file_that_is_no_event_is_no_line_to_tell():
    """Most events are told by the report only."""
    assert narrate(DemoEvent(1, "step", "a", 1, 0, {"step": 3}), []) is None
