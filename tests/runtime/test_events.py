"""Lines that any reader can trust."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.forks import forked

from clusterwright.runtime import events

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


def test_what_may_wait_is_written_with_the_next_that_may_not_in_its_order(tmp_path, monkeypatch):
    """None of them is lost or overtaken."""
    monkeypatch.setattr(
        events, "_LATE_S", 3600
    )  # a busy machine may take longer than that between two lines here
    log = events.Events(tmp_path, 2, 0)
    log.write("first")
    log.soon("step", step=1)
    log.soon("step", step=2)
    assert [json.loads(line)["event"] for line in lines(tmp_path)] == ["first"]

    log.write("last")
    assert [json.loads(line).get("step") for line in lines(tmp_path)] == [None, 1, 2, None]


def test_what_may_wait_waits_a_quarter_of_a_second_at_most_while_more_comes(tmp_path):
    """Of steps that take longer, each is written at once."""
    log = events.Events(tmp_path, 2, 0)
    for step in range(3):
        log.soon("step", step=step)
        assert len(lines(tmp_path)) == step + 1
        time.sleep(0.26)


@pytest.mark.parametrize(("ending", "kept"), [("raise SystemExit(3)", 2), ("os.kill(os.getpid(), 9)", 1)])
def test_a_process_that_ends_writes_what_waits_and_one_that_is_killed_does_not(tmp_path, ending, kept):
    """The first line was written at once."""
    program = f"""
import os
from pathlib import Path
from clusterwright.runtime import events
events._LATE_S = 3600
log = events.Events(Path({str(tmp_path)!r}), 2, 0)
log.soon("step", step=1)
log.soon("step", step=2)
{ending}
"""
    subprocess.run([sys.executable, "-c", program], check=False)

    assert len(lines(tmp_path)) == kept


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


def test_a_full_disk_tears_one_line_and_ends_nothing(tmp_path, capfd):
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
    assert capfd.readouterr().err.count("cannot write events") <= 1


def test_words_on_a_full_disk_change_no_exit_code():
    """The rank's log lies on the same disk as its events."""
    program = "from clusterwright.runtime.events import log_line; log_line('x' * 9999); raise SystemExit(7)"
    with Path("/dev/full").open("wb") as full:
        assert subprocess.run([sys.executable, "-c", program], stderr=full, check=False).returncode == 7


def test_a_process_knows_when_it_was_created():
    """Before now, and after the machine was started."""
    uptime = float(Path("/proc/uptime").read_text().split()[0])

    assert time.time() - uptime - 1 <= events.process_started() <= time.time() + 1


def test_a_forked_worker_writes_its_own_events_and_not_those_that_wait(tmp_path):
    """A loader's worker says that a sample is bad while a step's event still waits in the rank."""
    log = events.Events(tmp_path, 2, 7)
    log.write("process_start")
    log.soon("step", step=1)
    os.waitpid(forked(lambda: log.write("bad_sample", message="x")), 0)
    log.flush()

    assert [json.loads(line)["event"] for line in lines(tmp_path)] == ["process_start", "bad_sample", "step"]
