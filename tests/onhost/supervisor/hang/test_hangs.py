import pytest

from clusterwright.onhost.supervisor.hang.hangs import Hangs


@pytest.fixture
def job():
    """A job whose generation 4 runs on two hosts, and what it asked of whom."""
    asked = []
    hangs = Hangs(lambda host, message: asked.append((host, message)))
    hangs.begin(4, ["a", "b"], "/runs/one/logs/4")
    return hangs, asked


def still(generation, rank, collectives):
    """A host's report of a standstill of its only rank."""
    told = {
        "rank": rank, "local_rank": 0, "step": 10, "phase": 1, "stalled_s": 2.0, "heartbeat_age_s": 0.1, "state": "S",
        "groups": {"all": collectives}, "moves": True, "limit_s": 1.0, "long_s": 60.0,
    }  # fmt: skip
    return {"stalled": generation, "repeat_s": 0.5, "ranks": [told]}


def found(generation, rank, verdict="hung", *, proven=False):
    """A host's findings."""
    return {
        "examined": generation,
        "ranks": [{"rank": rank, "verdict": verdict, "message": "waits", "proven": proven}],
    }


def suspect(hangs):
    """Rank 1 is behind."""
    assert hangs.receive("a", still(4, 0, 100), 0.0) == []
    assert hangs.receive("b", still(4, 1, 99), 0.1) == []


def test_the_host_of_the_suspect_is_asked(job):
    """And nobody else."""
    hangs, asked = job
    suspect(hangs)

    assert asked == [("b", {"examine": 4, "ranks": [1]})]


def test_a_verdict_is_told_as_an_event(job):
    """With the rank, its host, what was seen, and where the stacks are."""
    hangs, _ = job
    suspect(hangs)
    (told,) = hangs.receive("b", found(4, 1), 1.1)

    assert hangs.guilty == "b"
    assert told == {
        "rank": 1, "on": "b", "local_rank": 0, "step": 10, "seconds": 3.0, "message": "waits",
        "stacks": "/runs/one/logs/4",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "proven", "patience"), [("hung", False, 2), ("hung", True, 1), ("active", False, 1)]
)
def test_only_a_verdict_without_proof_makes_patient(job, verdict, proven, patience):
    """For the rest of the job."""
    hangs, _ = job
    suspect(hangs)
    hangs.receive("b", found(4, 1, verdict, proven=proven), 1.1)
    hangs.begin(5, ["a", "b"], "")

    assert hangs.timeout_factor == patience


def test_a_generation_that_ended_is_not_spoken_of(job):
    """Its hosts may still say something while they end their ranks."""
    hangs, asked = job
    suspect(hangs)
    hangs.end()

    assert hangs.receive("b", found(4, 1), 1.1) == []
    assert hangs.receive("b", still(3, 1, 99), 1.2) == []
    assert len(asked) == 1
