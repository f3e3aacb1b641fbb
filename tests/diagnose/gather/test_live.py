"""Who waits for whom: ranks of a job that runs tell where they stand."""

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from clusterwright.diagnose.gather.live import RankState, compared, live, parse_rank_states
from clusterwright.diagnose.subjects import judge_sources
from clusterwright.edge.bundler import RANK_STACKS, bundle_script
from clusterwright.edge.fakes import FakeRemote

WAITS = RankState("n1", "0", "S", "futex", "train.py:88 (step)", "all_reduce")


def test_the_rank_that_stands_elsewhere_is_waited_for():
    """Its line, and what the others wait in."""
    late = RankState("n2", "2", "S", "", "train.py:40 (load)", "")

    assert compared([WAITS, WAITS, late]) == [
        "live: rank 2 on n2 stands at train.py:40 (load); 2 wait for it in all_reduce at train.py:88 (step)"
    ]


@pytest.mark.parametrize(
    ("state", "kernel", "words", "mode"),
    [
        ("D", "nfs_wait_bit_killable", "waits in the kernel (state D, nfs_wait_bit_killable)",
         "storage-io/hung-on-storage"),
        ("T", "", "is stopped", "user-code/rank-behind"),
    ],
)  # fmt: skip
def test_a_rank_that_cannot_answer_is_known_by_its_state(state, kernel, words, mode):
    """It is in the kernel, or stopped."""
    silent = RankState("n2", "2", state, kernel, "", "")
    (line,) = compared([WAITS, WAITS, silent])
    (source,) = live(FakeRemote(lambda *_: json.dumps(seen(silent, WAITS, WAITS))), ["n2"], "7")

    assert f"live: rank 2 on n2 {words}; 2 wait for it" in line
    assert judge_sources([source])[0].mode == mode


def seen(*stands):
    """As a host tells of them."""

    def look(one):
        return {"state": one.state, "kernel": one.kernel, "place": one.location, "collective": one.collective}

    return [{"rank": one.rank, "pid": 1, "samples": [look(one)] * 3} for one in stands]


def test_ranks_at_work_are_not_blamed():
    """One that moves between the looks, all that wait at the same time, and one alone."""
    moves = RankState("n2", "2", "R", "", "", "")

    assert compared([WAITS, WAITS, moves]) == []
    assert compared([WAITS, WAITS]) == []
    assert compared([RankState("n1", "0", "S", "", "train.py:3 (load)", "")]) == []


@pytest.mark.parametrize("text", ["", "no python", "{}", "[3]", '[{"samples": []}]', '[{"samples": 3}]'])
def test_a_host_that_answers_something_else_tells_nothing(text):
    """And nothing breaks."""
    assert list(parse_rank_states("n1", text)) == []
    assert live(FakeRemote(lambda *_: text), ["n1"], "7") == ()


RANK = """
import os, sys, time
sys.path.insert(0, sys.argv[3])
from clusterwright.onhost.supervisor.hang import stacks
rank, folder = int(sys.argv[1]), sys.argv[2]
stacks.listen(f"{folder}/{rank}.stacks")
import torch.distributed as dist

def load():
    time.sleep(600)

dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=3)
open(f"{folder}/ready-{rank}", "w").close()
if rank == 1:
    load()
dist.barrier()
"""


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not here (pip install torch)")
def test_real_ranks_tell_where_they_stand(tmp_path):
    """Three on gloo: one sleeps in its own function, two wait for it."""
    (tmp_path / "train.py").write_text(RANK)
    source = Path(__file__).parents[3] / "src"
    environment = os.environ | {"SLURM_JOB_ID": f"9{os.getpid()}"}
    ranks = [
        subprocess.Popen(
            [sys.executable, tmp_path / "train.py", str(rank), tmp_path, source],
            env=environment | {"RANK": str(rank)},
        )
        for rank in range(3)
    ]
    try:
        end = time.monotonic() + 200
        while len(list(tmp_path.glob("ready-*"))) < 3:
            assert time.monotonic() < end
            time.sleep(0.05)
        found = ask(environment["SLURM_JOB_ID"])
        while not found:  # the two come to the barrier a moment later
            assert time.monotonic() < end
            found = ask(environment["SLURM_JOB_ID"])
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()

    assert found == [
        "live: rank 1 on n1 stands at train.py:10 (load); 2 wait for it in barrier at train.py:16 (<module>)"
    ]


def ask(job):
    """The lines of this machine's ranks, by the script that is sent to hosts."""
    done = subprocess.run(
        [sys.executable, "-", job], input=bundle_script(RANK_STACKS), capture_output=True, check=True
    )
    return compared(list(parse_rank_states("n1", done.stdout.decode())))
