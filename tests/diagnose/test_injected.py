"""What others print when one rank has died is laid over recorded failures: the cause stays first."""

from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import of_text, read

HERE = Path(__file__).parent
LOGS = {path.stem: YAML(typ="safe").load(path) for path in sorted((HERE / "unseen3").glob("*.yaml"))[::2]}
# Classes of which these lines may as well be the first sign.
NOT_OF = frozenset(
    {"benign", "network-connectivity", "network-misconfig", "rendezvous", "rdma-config", "node-lost"}
)
STILL_RIGHT = 0.95

FOLLOWERS = {
    "watchdogs of other ranks": (
        "[rank1]:[E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL("
        "SeqNum=15, OpType=ALLREDUCE, NumelIn=46, NumelOut=46, Timeout(ms)=600000) ran for 600060 milliseconds.\n"
        "[rank3]:[E ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL("
        "SeqNum=16, OpType=ALLREDUCE, NumelIn=46, NumelOut=46, Timeout(ms)=600000) ran for 600060 milliseconds.\n"
        "terminate called after throwing an instance of 'c10::DistBackendError'"
    ),
    "sockets that were closed": (
        "node2:12:34 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node1<51159>\n"
        "[rank5]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting"
        " prematurely."
    ),
    "a peer that is no longer there": (
        "node2:1:2 [0] include/socket.h:409 NCCL WARN Net : Connect to 10.0.0.1<54263> failed : Connection refused"
    ),
    "retries over InfiniBand": (
        "node2:986:1338 [6] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<55921> with status=12 opcode=1 len=0"
        " vendor err 129 (Send)"
    ),
    "a launcher that ends the others": (
        "api.py:858] Sending process 44 closing signal SIGTERM\n"
        "api.py:833] failed (exitcode: -9) local_rank: 2 (pid: 5939) of binary: /usr/bin/python\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
    ),
    "a meeting that nobody comes to": (
        "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n"
        "RuntimeError: [Rank 0]: Ranks 4, 5, 6, 7 failed to pass monitoredBarrier in 2000000 ms"
    ),
    "Slurm, which ends the step": (
        "srun: error: node2: task 3: Exited with exit code 1\n"
        "slurmstepd: error: *** STEP 440575.0 ON node1 CANCELLED AT 2023-12-05T07:16:01 ***\n"
        "slurmstepd: error:  mpi/pmix_v4: _errhandler: n1 [10]: pmixp_client_v2.c:211: Error handler invoked: status"
        " = -61"
    ),
}


def kind(*texts):
    """The class of the likeliest diagnosis of logs that lie side by side."""
    said = judge(read([of_text(f"{number}.log", text) for number, text in enumerate(texts)], knowledge()))
    return next((each.kind for each in said if each.role == "root"), "")


@cache
def right_alone():
    """Failures of which the class is right where nothing is laid over them."""
    return {
        name: log
        for name, log in LOGS.items()
        if log["class"] not in NOT_OF and kind(log["log"]) == log["class"]
    }


def test_there_are_failures_enough():
    """Of most classes."""
    assert len(right_alone()) > 15
    assert len({log["class"] for log in right_alone().values()}) > 8


@pytest.mark.parametrize("what", FOLLOWERS)
def test_consequences_do_not_hide_the_cause(what):
    """Behind it in one log, and in another rank's log that is read first."""
    said = {
        (name, way): kind(*texts) == log["class"]
        for name, log in right_alone().items()
        for way, texts in (
            ("behind", (f"{log['log']}\n{FOLLOWERS[what]}",)),
            ("first", (FOLLOWERS[what], log["log"])),
        )
    }

    hidden = [each for each, right in said.items() if not right]
    assert len(hidden) <= (1 - STILL_RIGHT) * len(said), hidden
