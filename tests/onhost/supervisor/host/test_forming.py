"""A process group that does not form ends its ranks in its time, and names who is missing."""

import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from clusterwright.diagnose.reading import of_text
from clusterwright.diagnose.subjects import judge_sources
from clusterwright.onhost.supervisor.host.forming import (
    EXIT_CODE,
    Arrival,
    describe,
    limit,
    python_path,
    ranges,
    read,
)

SOURCE = Path(__file__).parents[4] / "src"
SCRIPT = """
import sys, time
from datetime import timedelta
import torch.distributed as dist
dist.init_process_group("gloo", timeout=timedelta(seconds=4))
print("formed", dist.get_world_size())
"""


def at(rank, host, world=4, address="10.0.0.1:29500"):
    """A rank that waits."""
    return Arrival(rank, world, host, address)


def test_the_missing_ranks_and_their_hosts_are_named():
    """Ranks are numbered host by host."""
    text = describe([at(0, "a"), at(1, "a")], ("a", "b"))

    assert text == "2 of 4 ranks came; missing: rank 2-3 (of b)"


def test_a_rank_that_came_twice_is_named_with_its_hosts():
    """As with `--node_rank=0` on both hosts."""
    both = [at(rank, host) for rank in (0, 1) for host in ("a", "b")]

    assert describe(both) == (
        "2 of 4 ranks came; missing: rank 2-3; rank 0 came 2 times, on a, b; rank 1 came 2 times, on a, b"
    )


def test_ranks_that_meet_elsewhere_or_nowhere_are_told():
    """Two addresses, two world sizes, or one address that nobody reaches."""
    assert "different addresses: x:1, y:1" in describe([at(0, "a", 2, "x:1"), at(1, "b", 2, "y:1")])
    assert "world size: 2, 4" in describe([at(0, "a", 2), at(1, "a", 4)])
    assert describe([at(0, "a", 2), at(1, "b", 2)]).endswith("where they meet: 10.0.0.1:29500")


def test_numbers_are_written_as_ranges():
    """Of a thousand missing ranks too."""
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"


def test_the_time_is_the_script_s_then_the_job_s():
    """Torch's own default for NCCL otherwise."""
    assert limit(timedelta(seconds=100), "30") == pytest.approx(95)
    assert [limit(None, text) for text in ("30", "auto", "")] == pytest.approx([28.5, 570, 570])


def test_a_file_that_is_half_written_is_left_out(tmp_path):
    """Its rank counts as missing."""
    at(1, "a").write(str(tmp_path))
    (tmp_path / "2-b-1.json").write_text('{"rank": 2')

    assert [arrival.rank for arrival in read(str(tmp_path))] == [1]


@pytest.fixture
def rank(tmp_path):
    """`rank(number)`: a Python of a rank's, as any launcher starts it; those left are killed."""
    (tmp_path / "train.py").write_text(SCRIPT)
    started = []

    def start(number, *, world=2, port=0, **more):
        env = {
            **os.environ, "RANK": str(number), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port), "CLUSTERWRIGHT_FORMING": str(tmp_path / "forming"), **more,
        }  # fmt: skip
        env["PYTHONPATH"] = python_path({"PYTHONPATH": f"{SOURCE}{os.pathsep}{more.get('PYTHONPATH', '')}"})
        process = subprocess.Popen(
            [sys.executable, "train.py"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def port():
    """A port that was free a moment ago."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.train
def test_a_group_that_forms_leaves_nothing(rank, port, tmp_path):
    """No file, no output of ours."""
    outputs = [process.communicate(timeout=60) for process in (rank(0, port=port), rank(1, port=port))]

    assert [out for out, _ in outputs] == ["formed 2\n", "formed 2\n"]
    assert "clusterwright" not in outputs[0][1]
    assert not (tmp_path / "forming").exists()


@pytest.mark.train
def test_two_ranks_zero_end_in_their_time_and_say_so(rank, port, tmp_path):
    """As two hosts with the same node rank do; the likeliest cause in the log names them."""
    begun = time.monotonic()
    processes = [rank(0, port=port), rank(0, port=port)]
    errors = [process.communicate(timeout=60)[1] for process in processes]

    assert time.monotonic() - begun < 40
    assert EXIT_CODE in [process.returncode for process in processes]
    log = next(text for text in errors if "did not form" in text)
    diagnosis = judge_sources([of_text("log", log)])[0]
    assert diagnosis.mode == "rendezvous/group-not-formed"
    assert "missing: rank 1" in diagnosis.cause
    arrivals = [json.loads(path.read_text())["rank"] for path in (tmp_path / "forming").iterdir()]
    assert set(arrivals) == {0}


@pytest.mark.train
def test_two_torchruns_of_one_node_rank_end_in_their_time_and_say_so(tmp_path):
    """As in a script of a shell with a literal node rank, which is not rewritten."""
    (tmp_path / "train.py").write_text("print('never')\n")
    started = []
    for number, host in enumerate(("a", "b"), 2):
        env = {
            **os.environ, "CLUSTERWRIGHT_HOSTS": "a,b", "CLUSTERWRIGHT_HOST": host, "CLUSTERWRIGHT_FORMING_S": "12",
            "CLUSTERWRIGHT_FORMING": str(tmp_path / "forming"), "PYTHONPATH": python_path({"PYTHONPATH": str(SOURCE)}),
        }  # fmt: skip
        options = [
            "--nnodes=2",
            "--node_rank=0",
            f"--master_addr=127.0.0.{number}",
            f"--master_port={29710 + number}",
        ]
        argv = [sys.executable, "-m", "torch.distributed.run", *options, "train.py"]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True))
    errors = [process.communicate(timeout=60)[1] for process in started]

    assert EXIT_CODE in [process.returncode for process in started], errors
    diagnosis = judge_sources([of_text("log", next(text for text in errors if "did not form" in text))])[0]
    assert diagnosis.mode == "rendezvous/group-not-formed"
    assert "node 0 came 2 times, on a, b" in diagnosis.cause
    assert "missing: node 1 (of b)" in diagnosis.cause


@pytest.mark.train
def test_a_sitecustomize_of_the_user_s_is_imported_too(rank, port, tmp_path):
    """Ours hides it from Python."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('mine')\n")
    process = rank(0, world=1, port=port, PYTHONPATH=str(tmp_path / "site"))

    assert process.communicate(timeout=60)[0] == "mine\nformed 1\n"
