"""The model of Slurm does what Slurm does."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from clusterwright.monitor.simulate.engine import simulate
from clusterwright.monitor.simulate.settings import (
    Account,
    HostKind,
    Quality,
    Queue,
    SimulationSettings,
    slurm_default,
)
from clusterwright.monitor.simulate.trace import TraceJob


def starts(outcome):
    """When each job began."""
    return {each.job.id: each.start for each in outcome.job_runs}


def test_first_come_first_served_without_limits(job, settings):
    """Nothing is kept for a large job whose turn lies beyond the window: small ones go past it."""
    jobs = [job("one", gpus=1, run=1000), job("two", at=1, hosts=2, gpus=4), job("three", at=2, gpus=1)]
    found = starts(simulate(jobs, replace(slurm_default(settings()), window_s=0)))

    assert found["two"] == 1000
    assert found["three"] == 30


def test_backfill_starts_what_ends_in_time(job, settings):
    """Ten minutes fit before the large job's turn, an hour does not."""
    jobs = [
        job("now", gpus=4, run=1000), job("large", at=1, hosts=2, gpus=4),
        job("long", at=2, gpus=4, run=3600), job("short", at=3, gpus=4, run=600),
    ]  # fmt: skip
    found = starts(simulate(jobs, settings()))

    assert found["short"] < 60
    assert found["large"] == pytest.approx(1000, abs=30)
    assert found["long"] >= found["large"]


def test_whole_hosts_are_held(job, settings):
    """Two jobs of one GPU take two hosts."""
    (first, second, third) = simulate(
        [job(name) for name in "abc"], settings(queue={"exclusive": True})
    ).job_runs

    assert (first.allocated_gpus, first.gpus) == (4, 1)
    assert (second.start, third.start) == (0, 60)


def test_who_used_less_goes_first(job, settings):
    """Team a has run for an hour; of the next two, b's goes first although it came later."""
    both = {"hosts": 2, "gpus": 4}
    jobs = [job("before", run=3600, **both), job("a", at=3500, **both)]
    jobs.append(job("b", at=3550, team="b", user="v", **both))
    found = starts(simulate(jobs, settings()))

    assert found["b"] < found["a"]
    assert starts(simulate(jobs, settings(fifo=True)))["a"] < starts(simulate(jobs, settings(fifo=True)))["b"]


@pytest.mark.parametrize(
    ("account", "runs"),
    [({"max_gpus": 2}, 2), ({"max_jobs": 3}, 3), ({"max_gpus_per_user": 1}, 1), ({}, 8)],
)
def test_limits_of_teams(job, settings, account, runs):
    """Eight jobs of one GPU on eight GPUs: so many run at once."""
    accounts = {"a": Account("a", **account)}
    found = simulate([job(str(number)) for number in range(8)], settings(accounts=accounts))

    assert sum(each.start == 0 for each in found.job_runs) == runs
    assert len(found.job_runs) == 8


@pytest.mark.parametrize(
    ("quality", "runs"),
    [({"max_gpus": 4}, 4), ({"max_jobs_per_user": 2}, 2), ({"max_gpus_per_user": 3}, 3)],
)
def test_limits_of_qualities_of_service(job, settings, quality, runs):
    """The same of a quality of service."""
    jobs = [job(str(number), qos="x") for number in range(8)]
    found = simulate(jobs, settings(qualities={"x": Quality(**quality)}))

    assert sum(each.start == 0 for each in found.job_runs) == runs


def test_head_room_is_never_taken(job, settings):
    """Half of eight GPUs."""
    found = simulate([job(str(number)) for number in range(8)], settings(queue={"most_billed": 400}))

    assert sum(each.start == 0 for each in found.job_runs) == 4


def test_what_can_never_run_is_said(job, settings):
    """Too large for the cluster, or for what its team may hold; the rest runs."""
    jobs = [job("huge", hosts=3), job("much", gpus=4), job("fits", gpus=1)]
    found = simulate(jobs, settings(accounts={"a": Account("a", max_gpus=2)}))

    assert [(each.id, why) for each, why in found.rejected_jobs] == [
        ("huge", "the job requests more than the simulated cluster has"),
        ("much", "the job requests more than the limit of team/a/GPUs"),
    ]  # fmt: skip
    assert [each.job.id for each in found.job_runs] == ["fits"]


def test_a_job_is_cut_at_its_partition_s_longest_time(job, settings):
    """And said to be."""
    (ran,) = simulate([job("long", run=7200)], settings(queue={"max_s": 3600.0})).job_runs

    assert (ran.end, ran.is_timed_out) == (3600, True)


def test_a_higher_tier_goes_first(job):
    """Whatever the priority."""
    kinds = {"x": HostKind(("h",), 4, 8)}
    queues = {"q": Queue("q", ("x",), default=True), "fast": Queue("fast", ("x",), tier=9)}
    jobs = [job("now", gpus=4), job("slow", at=1, gpus=4), job("quick", at=2, gpus=4, partition="fast")]
    found = starts(simulate(jobs, SimulationSettings("t", kinds, queues)))

    assert found["quick"] < found["slow"]


def test_larger_hosts_of_another_site(job, settings):
    """Eight GPUs of one host there are four of two hosts here; an unknown partition is the default one."""
    found = simulate([job("other", gpus=8, cpus=16, partition="dgx")], settings())

    assert found.moved == 1
    assert (found.job_runs[0].gpus, found.job_runs[0].allocated_gpus) == (8, 8)


JOBS = st.lists(
    st.builds(
        TraceJob, id=st.uuids().map(str), team=st.sampled_from("ab"), user=st.sampled_from("uv"),
        submit=st.integers(0, 5000).map(float), run_s=st.integers(1, 4000).map(float),
        limit_s=st.one_of(st.none(), st.integers(60, 9000).map(float)), hosts=st.integers(1, 3), gpus=st.integers(0, 5),
        cpus=st.integers(1, 9),
    ),
    max_size=25,
)  # fmt: skip


@given(JOBS, st.booleans(), st.booleans())
@profile(max_examples=60)
def test_nothing_is_ever_given_twice(jobs, exclusive, fifo):
    """Whatever is asked: each job has one turn, after it came, and hosts never hold more than they have."""
    kinds = {"x": HostKind(("h0", "h1"), 4, 8)}
    given_ = SimulationSettings(
        "t", kinds, {"q": Queue("q", ("x",), default=True, exclusive=exclusive)}, fifo=fifo
    )
    found = simulate(sorted(jobs, key=lambda each: each.submit), given_)

    assert len(found.job_runs) + len(found.rejected_jobs) == len(jobs)
    assert all(each.start >= each.job.submit for each in found.job_runs)
    moments = sorted({each.start for each in found.job_runs})
    for at in moments:
        now = [each for each in found.job_runs if each.start <= at < each.end]
        assert sum(each.allocated_gpus for each in now) <= 8
        assert sum(each.cpus for each in now) <= 16
    assert all(before.start <= after.start for before, after in pairwise(found.job_runs))


@given(JOBS)
@profile(max_examples=20)
def test_the_same_trace_gives_the_same_replay(jobs):
    """To the second."""
    kinds = {"x": HostKind(("h0", "h1"), 4, 8)}
    given_ = SimulationSettings("t", kinds, {"q": Queue("q", ("x",), default=True)})

    assert simulate(jobs, given_).job_runs == simulate(jobs, given_).job_runs
