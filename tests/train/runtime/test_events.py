"""Lines that any reader can trust."""

import json
import resource
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from clusterwright.train.runtime import events

pytestmark = pytest.mark.train


def lines(tmp_path):
    return (tmp_path / "events" / "rank-00002.jsonl").read_text().splitlines()


def test_an_event_is_a_line_with_who_and_when(tmp_path):
    """And a float loss says itself exactly."""
    events.Events(tmp_path, 2, 7).write("step", step=3, loss=0.1)

    (event,) = map(json.loads, lines(tmp_path))
    assert event["time"] == pytest.approx(time.time(), abs=5)
    assert (event["event"], event["rank"], event["generation"], event["step"]) == ("step", 2, 7, 3)
    assert float.fromhex(event["loss_hex"]) == event["loss"] == 0.1


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_json_has_no_word_for_is_null(tmp_path, loss):
    """The hexadecimal form still says which."""
    events.Events(tmp_path, 2, 0).write("step", loss=loss)

    event = json.loads(lines(tmp_path)[0], parse_constant=pytest.fail)
    assert event["loss"] is None
    assert event["loss_hex"] == loss.hex()


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    """Nobody asked."""
    monkeypatch.chdir(tmp_path)
    events.Events(None, 0, 0).write("step", step=1)

    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_tears_one_line_and_ends_nothing(tmp_path, capsys):
    """The file may grow to 150 bytes: a line fits, one is torn, some are lost, the last is whole again."""
    log = events.Events(tmp_path, 2, 0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150, hard))
        for step in range(4):
            log.write("step", step=step, padding="x" * 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.write("step", step=4)

    found = lines(tmp_path)
    assert [json.loads(line)["step"] for line in (found[0], found[-1])] == [0, 4]
    assert len(found) == 3
    assert capsys.readouterr().err.count("events are lost") <= 1


def test_a_process_knows_when_it_was_created():
    """Before now, and after the machine was started."""
    uptime = float(Path("/proc/uptime").read_text().split()[0])

    assert time.time() - uptime - 1 <= events.process_started() <= time.time() + 1
