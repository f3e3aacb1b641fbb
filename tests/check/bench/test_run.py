"""A bench from beginning to end, on a control host that answers for its hosts."""

import json

import pytest

from clusterwright import __version__
from clusterwright.check.bench.bench_job import HostRequest
from clusterwright.check.bench.run import FEWEST, bench_of, run
from clusterwright.check.bench.store import file_of, read
from clusterwright.edge.fakes import FakeClock, FakeRemote, program_stdin
from clusterwright.onhost.bench.conduct import MARKER

HELLO = {"tools": {}, "versions": {"kernel": "6.1.0", "slurm": "22.05.8"}, "interfaces": {}}
MEMORY = {"copy": 1e11, "triad": 1e11, "right": True, "array_bytes": 1, "threads": 1}
SAYS = {"hello": HELLO, "memory": MEMORY}


def control(states, *, lost_in=(), dumb=()):
    """Sinfo, sbatch and orders; hosts of `lost_in` answer hello and nothing more, those of `dumb` fail at it."""

    def answer(_host, command, stdin):
        if command.startswith("sinfo"):
            return states
        if "sbatch --parsable" in command:
            return "42\n"
        if "scontrol show job" in command:
            return "JobId=42 JobState=RUNNING"
        if "python3" not in command:
            return ""
        parts = json.loads(program_stdin(stdin))["order"]["parts"]
        answers = {
            host: {
                "code": int(host in dumb),
                "out": json.dumps(SAYS[part["program"]]),
                "err": "no python",
                "stopped": "",
            }
            for host, part in parts.items()
            if part["program"] == "hello" or host not in lost_in
        }
        return MARKER + json.dumps({"answers": answers, "state": "RUNNING"})

    return FakeRemote(answer)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    """Results of other clusters of that name are left alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_every_host_of_the_partition_has_a_verdict_and_all_is_kept(cluster):
    """Measured, busy, away, or lost on the way; rows have our own version beside those of the host."""
    states = "gpu-node1|idle\ngpu-node2|idle\ngpu-node3|mixed\ngpu-node4|drained\n"
    found = run(
        "memory", cluster, control(states, lost_in={"gpu-node2"}), HostRequest("alice"), clock=FakeClock()
    )

    status = {(each.subject, each.status.value) for each in found.verdicts}
    assert status == {
        ("gpu-node1", "unknown"),  # nobody is left to compare it with
        ("gpu-node2", "fail"), ("gpu-node3", "skipped"), ("gpu-node4", "unknown"),
    }  # fmt: skip
    assert {each.observed for each in found.verdicts if each.subject in {"gpu-node3", "gpu-node4"}} == {
        "the bench did not measure the host, because it is allocated to a job",
        "the bench did not measure the host: its node is drained in Slurm",
    }  # fmt: skip
    kept = read(file_of("lab"), found.id)
    assert (kept.measurements, kept.verdicts, kept.hosts) == (found.measurements, found.verdicts, found.hosts)
    assert kept.versions["gpu-node1"] == HELLO["versions"] | {"clusterwright": __version__}


def test_equal_hosts_are_well(cluster):
    """Four of them are a fleet."""
    states = "".join(f"gpu-node{index}|idle\n" for index in range(1, 5))
    found = run("memory", cluster, control(states), HostRequest("alice"), clock=FakeClock())

    assert {each.status.value for each in found.verdicts} == {"ok"}
    assert len(found.measurements) == 8
    assert found.job == "42"


def test_a_host_that_cannot_say_what_it_is_fails(cluster):
    """In its own words; the others are measured."""
    states = "".join(f"gpu-node{index}|idle\n" for index in range(1, 5))
    found = run(
        "memory", cluster, control(states, dumb={"gpu-node3"}), HostRequest("alice"), clock=FakeClock()
    )

    failed = {each.subject: each.observed for each in found.verdicts if each.status == "fail"}
    assert failed == {"gpu-node3": "hello exited with code 1: no python"}
    assert {each.status.value for each in found.verdicts if each.subject != "gpu-node3"} == {"ok"}


@pytest.mark.parametrize("kind", FEWEST)
def test_every_kind_is_a_file_of_its_own(kind):
    """Named like the command."""
    assert bench_of(kind).__name__ == kind
