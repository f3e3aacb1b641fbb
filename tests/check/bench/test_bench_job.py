"""Which hosts a bench takes, what it says when it cannot, and what its job looks like."""

import json
import re

import pytest

from clusterwright.check.bench import bench_job
from clusterwright.check.bench.bench_job import HostRequest, choose, holders, reserve_hosts, sort
from clusterwright.check.bench.script import script
from clusterwright.check.bench.stage import StagedPart
from clusterwright.edge.bundler import PACKAGE
from clusterwright.edge.fakes import FakeClock, FakeRemote, program_stdin
from clusterwright.edge.slurm import NAMED_FIELDS
from clusterwright.errors import WrightError
from clusterwright.onhost.bench.conduct import MARKER
from clusterwright.slurm.jobs import parse_queue

IDLE = "".join(f"gpu-node{index}|idle\n" for index in range(1, 5))
QUEUE = (
    "7|bob|RUNNING|1:00|1:00:00|2|gpu-node[2-3]|None|train-x\n"
    "6|bob|COMPLETED|1:00|1:00:00|4|gpu-node[1-4]|None|old\n"
)


def remote(states=IDLE, *, job="JobId=7 JobState=RUNNING", answers=None, log=None):
    """A control host: sinfo, squeue, sbatch, scontrol, and the orders of a job."""

    def answer(_host, command, stdin):
        if log is not None:
            log.append(command)
        if command.startswith("sinfo"):
            return states
        if command.startswith("squeue"):
            mark = re.search("--format='?([0-9a-f]*)%i", command)[1]
            return "".join(mark + row for row in QUEUE.splitlines(keepends=True))
        if "sbatch --parsable" in command:
            return "42\n"
        if "scontrol show job" in command:
            return job
        if "python3" in command:
            asked = json.loads(program_stdin(stdin))
            found = {"code": 0, "out": '"hi"', "err": "", "stopped": ""}
            heard = [host for host in asked["order"]["parts"] if answers is None or host in answers]
            return MARKER + json.dumps({"answers": dict.fromkeys(heard, found), "state": "RUNNING"})
        return ""

    return FakeRemote(answer)


def test_states_are_sorted_into_free_busy_and_away():
    """Whatever Slurm hangs on to a word: `mixed*` does not answer, `unk*` has not answered yet."""
    text = "a|idle\nb|mixed\nc|allocated\nd|drained\ne|mixed*\nf|down*\ng|completing\nh|unk*\ni|idle*\nwarning: x\n"
    found = sort(text, ())

    assert found.free == ("a",)
    assert found.busy == ("b", "c", "g", "h", "i")
    assert found.ending == ("g", "h", "i")
    assert found.unavailable == {"d": "drained", "e": "mixed*", "f": "down*"}
    assert sort(text, ("b", "d")).busy == ("b",)


def test_jobs_that_hold_hosts_are_named_and_ended_ones_are_not():
    """With their users."""
    jobs = parse_queue(QUEUE, NAMED_FIELDS)

    assert holders(jobs, ["gpu-node3"]) == "job 7 (train-x) of bob on gpu-node[2-3]"
    assert holders(jobs, ["gpu-node4"]) == "no job that squeue lists"


def test_idle_hosts_are_taken_and_busy_ones_told_of(cluster):
    """By default nobody is waited for."""
    found = choose(cluster, remote(IDLE.replace("2|idle", "2|mixed")), HostRequest(), FakeClock())

    assert found.free == ("gpu-node1", "gpu-node3", "gpu-node4")
    assert found.busy == ("gpu-node2",)


@pytest.mark.parametrize("state", ["completing", "unk*"])
def test_hosts_that_are_about_to_be_free_are_waited_for(cluster, state):
    """Else a bench that follows another, or an apply, would take those that were quicker."""
    way = remote(IDLE.replace("2|idle", f"2|{state}"))
    clock = FakeClock(1000.0)

    assert choose(cluster, way, HostRequest(wait_s=30), clock).busy == ("gpu-node2",)
    assert clock.now() == 1030


def test_with_too_few_the_holders_are_named_after_the_limit(cluster):
    """It waited as long as it was told to."""
    clock = FakeClock(1000.0)
    with pytest.raises(
        WrightError, match=r"bench-hosts-busy.*were not free within 60 s; allocated to job 7 \(train-x\)"
    ):
        choose(cluster, remote(IDLE.replace("idle", "allocated")), HostRequest(wait_s=60, fewest=2), clock)
    assert clock.now() >= 1060


def test_hosts_that_are_away_are_not_waited_for(cluster):
    """Nothing says that they come back."""
    with pytest.raises(
        WrightError, match=r"bench-hosts-few.*needs 2 hosts; 0 are available: gpu-node1 is down\*"
    ):
        choose(cluster, remote(IDLE.replace("idle", "down*")), HostRequest(fewest=2), FakeClock())


HOSTS = ("gpu-node1", "gpu-node2")


def test_orders_are_given_and_a_silent_host_is_lost(cluster):
    """Later orders leave it out; the job is cancelled and its folder removed at the end."""
    log, lost = [], []
    way = remote(answers={"gpu-node1"}, log=log)
    with reserve_hosts(cluster, way, HOSTS, HostRequest("alice"), FakeClock(), lost.append) as stage:
        first = stage.do({host: StagedPart("hello", {}, 5.0) for host in HOSTS})
        assert stage.do({"gpu-node2": StagedPart("hello", {}, 5.0)}) == {}

    assert [*first] == ["gpu-node1"]
    assert first["gpu-node1"].document == "hi"
    assert stage.hosts == ("gpu-node1",)
    assert lost == ["gpu-node2: the host did not reply to request 1 of the bench (hello)"]
    assert "scancel 42" in log[-1]
    assert "rm -rf /shared/bench/1700000000.000" in log[-1]


def test_a_job_that_does_not_start_is_taken_back_with_slurms_reason(cluster):
    """Who holds the hosts is named, and the job is cancelled."""
    log = []
    way = remote(job="JobId=7 JobState=PENDING Reason=Resources", log=log)
    stage = reserve_hosts(cluster, way, HOSTS, HostRequest("alice", wait_s=5), FakeClock(), print)
    with pytest.raises(WrightError, match=r"bench-hosts-busy.*Slurm's reason: Resources"), stage:
        pytest.fail("it never ran")

    assert "scancel 42" in log[-1]


def test_a_job_that_ended_at_once_is_no_stage(cluster):
    """Cancelled by somebody, for one."""
    stage = reserve_hosts(
        cluster, remote(job="JobId=7 JobState=CANCELLED"), HOSTS, HostRequest("alice"), FakeClock(), print
    )
    with pytest.raises(WrightError, match=r"bench-job-ended.*ended before it ran: cancelled"), stage:
        pytest.fail("it never ran")


def test_every_program_that_is_named_is_there():
    """What is sent is what there is."""
    there = {path.stem for path in (PACKAGE / "onhost" / "bench").glob("*.py")}
    there -= {"__init__", "conduct"}  # sent by itself, to the control host
    assert {*bench_job.PROGRAMS} == there


def test_the_job_holds_whole_hosts_and_outlives_any_of_them(cluster):
    """Exclusive, all GPUs and memory, no requeue; a worker on each host."""
    text = script(cluster, HOSTS, "/shared/bench/1", limit_s=3600, partition="train", reservation="maint")

    for line in (
        "--job-name=wright-bench", "--nodelist=gpu-node[1-2]", "--nodes=2", "--exclusive", "--mem=0", "--gres=gpu:4",
        "--no-kill", "--no-requeue", "--reservation=maint", "--time=0-01:00:00", "--export=NONE",
    ):  # fmt: skip
        assert f"#SBATCH {line}\n" in text
    assert text.endswith("python3 /shared/bench/1/programs/worker.py /shared/bench/1\n")
    assert "srun --no-kill --kill-on-bad-exit=0 --wait=0" in text


def test_a_host_without_gpus_among_the_hosts_asks_none_of_any(cluster):
    """Slurm would give no host that has not as many as are asked for, and the job would never start."""
    text = script(cluster, ("control", *HOSTS), "/shared/bench/1", limit_s=3600, partition="train")

    assert "--gres" not in text
    assert "#SBATCH --exclusive\n" in text
