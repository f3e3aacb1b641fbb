"""Each step and each measure is told once, whatever happens to the run and to the tracker."""

import json

from clusterwright.onhost.trackers.event_cursor import EventCursor, config


def told_of(run):
    """Steps and values of what is new, told."""
    kept = EventCursor(str(run), "x")
    rows = kept.new()
    kept.commit()
    return rows


def test_a_step_has_its_values_under_names_in_groups(told):
    """Rates follow from its length; what it waited is a share."""
    told.steps(1, 2)
    first, second = told_of(told.folder)

    assert (first.step, first.values["train/loss"], first.values["train/learning_rate"]) == (1, 3.75, 0.1)
    assert (first.values["speed/tokens_per_second"], first.values["speed/samples_per_second"]) == (128, 64)
    assert "speed/data_wait_ratio" not in first.values
    assert round(second.values["speed/data_wait_ratio"], 6) == 0.1
    assert "speed/communication_ratio" not in first.values
    assert round(second.values["speed/communication_ratio"], 6) == 0.2


def test_steps_that_are_done_again_are_told_once(told):
    """The second generation goes on from step 4, and the tracker is another process by then."""
    told.steps(1, 6)
    before = [row.step for row in told_of(told.folder)]
    told.steps(5, 9, generation=2)

    assert before == [1, 2, 3, 4, 5, 6]
    assert [row.step for row in told_of(told.folder)] == [7, 8, 9]
    assert told_of(told.folder) == []


def test_what_was_not_told_comes_again(told):
    """A server was down: the rows stay new until `done`."""
    told.steps(1, 2)
    kept = EventCursor(str(told.folder), "x")

    assert len(kept.new()) == 2
    assert len(kept.new()) == 2
    kept.commit()
    assert kept.new() == []


def test_half_a_line_and_what_is_no_number_wait(told):
    """A torn line is read when it is whole; a loss that is not finite is left out."""
    told.write({"event": "step", "step": 1, "loss": None, "seconds": 1.0})
    with (told.folder / "events" / "rank-00000.jsonl").open("a") as file:
        file.write('{"time": 1, "event": "step", "st')
    (row,) = told_of(told.folder)

    assert (row.step, "train/loss" in row.values) == (1, False)
    with (told.folder / "events" / "rank-00000.jsonl").open("a") as file:
        file.write('ep": 2, "loss": 1.0, "seconds": 1.0}\n')
    assert [row.step for row in told_of(told.folder)] == [2]


def test_measures_are_told_once_by_their_name(told):
    """Also those of a pause that is held again."""
    told.write({"event": "measure", "name": "validation", "value": 2.5, "step": 4})
    told.write({"event": "measure", "name": "validation", "value": 2.5, "step": 4})

    assert [(row.step, row.values) for row in told_of(told.folder)] == [(4, {"validation": 2.5})]


def test_the_configuration_holds_nothing_of_the_environment(told):
    """Where secrets are."""
    found = config(str(told.folder))

    assert found == {"name": "gpt", "nodes": 2, "arguments.steps": 9}
    assert "s3cret" not in json.dumps(found)
