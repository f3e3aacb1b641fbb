from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.train.agent.decide import (
    CLEAR_S,
    ENDED,
    Ask,
    Drop,
    End,
    Event,
    HandOver,
    Kill,
    Policy,
    Start,
    State,
    decide,
)

HOSTS = ("a", "b", "c")
SPARE = Policy(hosts=HOSTS, nodes=2, min_nodes=1, on_host_loss="spare")


def told(policy, *events, state=None):
    """The state after the events, and every action on the way."""
    state, actions = state or State(), []
    for number, event in enumerate(events):
        kind, *rest = event if isinstance(event, tuple) else (event,)
        more = rest[0] if rest else {}
        state, done = decide(policy, state, Event(kind, **{"now": float(number), **more}))
        actions += done
    return state, actions


def on(kind, host, **more):
    """An event of a host."""
    return kind, {"host": host, **more}


def running(policy=SPARE, **more):
    """All hosts are there, and generation 1 trains on the first two."""
    state, actions = told(policy, *(on("joined", host) for host in policy.hosts))
    assert actions == [Start(1, ("a", "b"))]
    return replace(state, **more)


def lose(policy, host="b", others=("a",), **more):
    """A member dies, and the others have ended their ranks."""
    events = [
        on("lost", host, now=10, **more),
        *(on("idle", other, generation=1, now=11, **more) for other in others),
    ]
    return told(policy, *events, state=running(policy))


def test_the_first_generation_begins_when_all_hosts_are_there():
    """Two of three wait a moment for the third, so that who trains and who is spare does not depend on a race."""
    state, actions = told(SPARE, on("joined", "b"), on("joined", "c"))
    assert actions == []

    _, actions = told(SPARE, on("joined", "a"), state=state)

    assert actions == [Start(1, ("a", "b"))]


def test_a_host_that_never_comes_does_not_hold_the_job():
    """With enough hosts there, the others are waited for two seconds."""
    _, actions = told(SPARE, on("joined", "b"), on("joined", "c"), ("tick", {"now": 2.5}))

    assert actions == [Start(1, ("b", "c"))]


def test_too_few_hosts_hand_over():
    """After a minute the missing hosts count as lost, and the policy says what follows."""
    _, actions = told(SPARE, on("joined", "b"), ("tick", {"now": 61}))

    assert actions == [HandOver("lost a, c, and 1 hosts left are fewer than 2", ("a", "c"))]


def test_a_spare_takes_the_place_of_a_lost_host():
    """The ranks that are left are ended first; then the spare trains in the lost host's place."""
    _, actions = lose(SPARE)

    assert actions == [Kill(1, ("a",), "host-lost"), Start(2, ("a", "c"))]


def test_no_generation_begins_before_the_old_one_is_gone():
    """The survivor has been told to end its ranks, and has not said that it has."""
    state, actions = told(SPARE, on("lost", "b", now=10), ("tick", {"now": 12}), state=running())

    assert actions == [Kill(1, ("a",), "host-lost")]
    assert state.phase == "stopping"


def test_a_host_that_cannot_end_its_ranks_is_dropped():
    """A hung kernel holds the job no longer than ten seconds."""
    events = on("lost", "b", now=10), ("tick", {"now": 10 + CLEAR_S})
    _, actions = told(SPARE, *events, state=running())

    assert actions[1:] == [Drop("a"), HandOver("lost b, a, and 1 hosts left are fewer than 2", ("b", "a"))]


def test_a_spare_is_used_before_the_job_shrinks():
    """`shrink` goes on with fewer hosts only when no other is ready."""
    policy = replace(SPARE, on_host_loss="shrink")
    assert lose(policy)[1][-1] == Start(2, ("a", "c"))

    _, actions = told(
        policy, on("lost", "c"), on("lost", "b"), on("idle", "a", generation=1), state=running(policy)
    )

    assert actions[-1] == Start(2, ("a",))


def test_a_job_does_not_shrink_below_its_least():
    """Fewer hosts than `elastic.min_nodes` need a successor."""
    policy = Policy(hosts=("a", "b"), nodes=2, min_nodes=2, on_host_loss="shrink")
    _, actions = lose(policy)

    assert isinstance(actions[-1], HandOver)


def test_a_successor_keeps_away_from_the_lost_host():
    """The hand-over names the hosts to exclude."""
    policy = Policy(hosts=("a", "b"), nodes=2, min_nodes=2)

    assert lose(policy)[1][-1] == HandOver("lost b, and 1 hosts left are fewer than 2", ("b",))


def test_without_successors_left_a_lost_host_ends_the_run():
    """The reason names the field that says how many there may be."""
    policy = Policy(hosts=("a", "b"), nodes=2, min_nodes=2, successors=0)
    action = lose(policy)[1][-1]

    assert action.outcome == "failed"
    assert "recovery.successors" in action.why


def test_policy_fail_ends_the_run_even_with_a_spare():
    """`fail` means that a person looks first."""
    assert lose(replace(SPARE, on_host_loss="fail"))[1][-1].outcome == "failed"


def test_a_spare_that_dies_disturbs_nobody():
    """The generation goes on."""
    assert told(SPARE, on("lost", "c"), state=running())[1] == []


def test_a_host_that_comes_back_is_a_spare():
    """The next loss is made good with it."""
    state, _ = lose(SPARE)
    events = on("joined", "b"), on("lost", "a"), on("idle", "c", generation=2)
    _, actions = told(SPARE, *events, state=state)

    assert actions[-1] == Start(3, ("c", "b"))


def test_a_member_that_joins_again_has_lost_its_ranks():
    """The generation is ended as if it had been seen to go, and the host takes part in the next one."""
    _, actions = told(SPARE, on("joined", "b"), on("idle", "a", generation=1), state=running())

    assert actions == [Kill(1, ("a",), "host-lost"), Start(2, ("a", "b"))]


def test_all_ranks_leaving_well_is_the_end():
    """Exit code 0 on every host finishes the run."""
    events = (on("exited", host, generation=1, code=0) for host in "ab")
    state, actions = told(
        SPARE, *events, on("idle", "a", generation=1), on("idle", "b", generation=1), state=running()
    )

    assert actions[-1] == End("finished", "every rank left with exit code 0")
    assert state.phase == ENDED


def test_a_failure_is_judged_only_when_every_host_has_been_heard_since():
    """A dead host takes its neighbours' ranks with it before its silence is long enough to count."""
    state, actions = told(
        SPARE, on("exited", "a", generation=1, code=1, now=10), on("beat", "a", now=11.5), state=running()
    )
    assert actions == []

    events = on("lost", "b", now=13), on("idle", "a", generation=1, now=13.1)
    _, actions = told(SPARE, *events, state=state)

    assert actions[-1] == Start(2, ("a", "c"))


def fail(policy, **more):
    """Ranks fail on one host, and all hosts are alive."""
    return told(
        policy,
        on("exited", "a", generation=1, code=1, now=10),
        *(on("beat", host, now=11.5) for host in "ab"),
        *(on("idle", host, generation=1, now=12, **more) for host in "ab"),
        state=running(policy),
    )


def test_ranks_that_fail_after_progress_go_on():
    """A newer checkpoint than at the beginning of the generation means another try."""
    assert fail(SPARE, step=50)[1][-1] == Start(2, ("a", "b"))


def test_ranks_that_fail_without_progress_end_the_run():
    """The same failure again and again is not repeated for ever."""
    action = fail(SPARE)[1][-1]

    assert action.outcome == "no-progress"
    assert "beyond step 0" in action.why


def test_no_restarts_wanted_means_none():
    """`restarts: 0` ends the run at the first failure, progress or not."""
    assert fail(replace(SPARE, restarts=0), step=50)[1][-1].outcome == "failed"


@pytest.mark.parametrize(
    ("why", "last"),
    [("time-limit", HandOver("time-limit", ())), ("cancelled", End("cancelled", "cancelled by a person"))],
)
def test_ranks_that_were_asked_leave_and_then_it_is_decided(why, last):
    """A time limit leads to a successor, a person's wish to the end."""
    state, actions = told(SPARE, ("asked", {"why": why}), state=running())
    assert actions == [Ask(why)]

    exits = (on("exited", host, generation=1, code=0) for host in "ab")
    _, actions = told(
        SPARE, *exits, on("idle", "a", generation=1), on("idle", "b", generation=1), state=state
    )

    assert actions[-1] == last


def test_ranks_that_do_not_leave_are_ended_after_the_grace():
    """A script that knows nothing of the stop file cannot hold the job."""
    state, _ = told(SPARE, ("asked", {"why": "time-limit", "now": 100}), state=running())
    _, actions = told(SPARE, ("tick", {"now": 100 + SPARE.grace_s}), state=state)

    assert actions == [Kill(1, ("a", "b"), "stopped")]


def test_a_training_that_finishes_while_it_is_asked_to_stop_is_finished():
    """finished.json wins over the wish."""
    state, _ = told(SPARE, ("asked", {"why": "time-limit"}), state=running())
    exits = (on("exited", host, generation=1, code=0, finished=True) for host in "ab")
    idles = (on("idle", host, generation=1, finished=True) for host in "ab")

    assert told(SPARE, *exits, *idles, state=state)[1][-1].outcome == "finished"


def test_what_an_older_generation_reports_is_not_heard():
    """Messages are fenced by the generation's number."""
    state, _ = lose(SPARE)

    assert (
        told(
            SPARE,
            on("exited", "a", generation=1, code=1),
            on("exited", "c", generation=1, code=0),
            state=state,
        )[0]
        == state
    )


anything = st.tuples(
    st.sampled_from(["joined", "joined", "lost", "beat", "idle", "idle", "exited", "exited", "asked", "tick"]),
    st.sampled_from([*HOSTS, "d"]), st.floats(0, 20), st.integers(0, 2), st.sampled_from([0, 1, -9]), st.integers(0, 9),
    st.sampled_from([False] * 9 + [True]), st.sampled_from(["time-limit", "cancelled", "preempted"]),
)  # fmt: skip
policies = st.builds(
    Policy, hosts=st.just((*HOSTS, "d")), nodes=st.just(2), min_nodes=st.integers(1, 2),
    on_host_loss=st.sampled_from(["spare", "shrink", "successor", "fail"]), restarts=st.integers(0, 2),
    successors=st.integers(0, 1),
)  # fmt: skip


@settings(max_examples=400)
@given(policies, st.lists(anything, min_size=15, max_size=80))
def test_whatever_happens_one_generation_trains_at_a_time(policy, happenings):
    """No order of events starts a generation beside another, a second end, or a successor too many."""
    state, now, training, ends = State(), 0.0, set(), 0
    all_join = [("joined", host, 0.1, 0, 0, 0, False, "") for host in policy.hosts]
    for kind, host, later, back, code, step, finished, why in all_join + happenings:
        now += later
        generation = state.generation - back
        if generation == state.generation and kind in ("idle", "exited"):
            if kind == "idle" and host in training and state.phase == "running":
                continue  # an agent says so only when it was told to end its ranks
            training.discard(host)
        if kind in ("joined", "lost"):
            training.discard(host)  # an agent ends its ranks before it connects, and when it is silent
        state, actions = decide(policy, state, Event(kind, now, host, generation, code, why, step, finished))
        for action in actions:
            assert not ends, "nothing follows the end"
            if isinstance(action, Drop):
                training.discard(action.host)
            if isinstance(action, Start):
                assert not training, "ranks of an older generation are still there"
                assert len(set(action.hosts)) == len(action.hosts) <= policy.nodes
                assert len(action.hosts) >= (
                    policy.min_nodes if policy.on_host_loss == "shrink" else policy.nodes
                )
                training = set(action.hosts)
            if isinstance(action, HandOver):
                assert policy.successors > 0
            ends += isinstance(action, End | HandOver)
