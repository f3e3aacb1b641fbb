import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.hang import progress
from clusterwright.onhost.supervisor.hang.standstill import Standstill

SOURCE = Path(__file__).parents[4] / "src"
RANK = """
import time
from clusterwright.onhost.supervisor.hang import progress
from clusterwright.runtime.progress import Progress
progress.show_agent()
shows = Progress()
for step in range(1, 10**6):
    time.sleep(0.02)
    shows.stepped(step)
"""


@pytest.fixture
def host(tmp_path):
    """Two ranks, 4 and 5 of their training, that step 50 times a second; and what looks at them."""
    looks = Standstill(2)
    looks.prepare({"start": 3}, str(tmp_path), first_rank=4)
    ranks = []
    for local_rank in range(2):
        env = {"PYTHONPATH": str(SOURCE), **looks.variables(local_rank)}
        ranks.append(subprocess.Popen([sys.executable, "-c", RANK], env=env))
    looks.turn([each.pid for each in ranks], time.monotonic())
    yield looks, ranks
    for each in ranks:
        each.kill()
        each.wait()


def told(looks, kind, limit_s):
    """The first message of this kind, or None."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        time.sleep(min(looks.due(time.monotonic()), 0.1))
        for message in looks.poll(time.monotonic()):
            if kind in message:
                return message
    return None


def test_a_stopped_rank_is_said_examined_and_written_down(host, tmp_path):
    """With real processes: what the supervisor is told, and stacks of both ranks at the end."""
    looks, ranks = host
    end = time.monotonic() + 60
    while looks._watch.envelope.limits().straggler > 2 and time.monotonic() < end:
        assert told(looks, "stalled", 0.5) is None
    os.kill(ranks[1].pid, signal.SIGSTOP)
    stalled = told(looks, "stalled", 60)
    looks.examine({"examine": 3, "ranks": [5]})
    examined = told(looks, "examined", 60)
    looks.end(with_stacks=True)

    assert stalled["stalled"] == 3
    assert [(each["rank"], each["state"]) for each in stalled["ranks"]][1] == (5, "T")
    assert stalled["ranks"][0]["stalled_s"] < stalled["ranks"][1]["stalled_s"]
    (finding,) = examined["ranks"]
    assert (finding["rank"], finding["verdict"], finding["proven"]) == (5, "hung", True)
    assert finding["stacks"] == str(tmp_path / "1.stacks")
    assert all("most recent call first" in (tmp_path / f"{n}.stacks").read_text() for n in range(2))


def test_an_old_question_is_not_answered(host):
    """It is about a generation before this one."""
    looks, _ = host
    looks.examine({"examine": 2, "ranks": [4]})

    assert told(looks, "examined", 1.5) is None


def test_ranks_that_show_their_steps_are_asked_to_regroup(host):
    """Every page says so; when one of them shows no step, somebody may not hear it."""
    looks, _ = host
    end = time.monotonic() + 150
    while not looks.request_regroup() and time.monotonic() < end:
        time.sleep(0.02)
    asked = [looks.pages[number][progress.REGROUP] for number in range(2)]
    looks.prepare({"start": 4}, "", first_rank=4)

    assert asked == [1, 1]
    assert [looks.pages[number][progress.REGROUP] for number in range(2)] == [0, 0]
    assert not Standstill(2).request_regroup()


def test_torch_records_its_collectives_unless_the_user_says_otherwise(host, tmp_path, monkeypatch):
    """Into the folder of the generation's logs; torch adds the rank to the name."""
    looks, _ = host
    monkeypatch.setenv("TORCH_FR_BUFFER_SIZE", "0")
    told_to_rank = looks.variables(1)

    assert "TORCH_FR_BUFFER_SIZE" not in told_to_rank
    assert told_to_rank["TORCH_NCCL_TRACE_BUFFER_SIZE"] == "2000"
    assert told_to_rank["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] == str(tmp_path / "nccl-")


def test_without_ranks_there_is_nothing_to_do(host):
    """No look, no message, and pages that show nothing to the next ranks."""
    looks, ranks = host
    for each in ranks:
        each.kill()
        each.wait()
    looks.prepare({"start": 4}, "", first_rank=0)

    assert looks.due(time.monotonic()) is None
    assert looks.poll(time.monotonic()) == []
    assert looks.pages[1].read() == (0, 0, 0, progress.STARTING, 0, {})
