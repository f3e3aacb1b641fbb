from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.decide import (
    CLEAR_S,
    ENDED,
    GROW_S,
    GROW_TIMEOUT_S,
    GROWN,
    SETTLE_S,
    Drop,
    End,
    Event,
    Handoff,
    Kill,
    Policy,
    RankExit,
    RequestStop,
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

    assert actions == [Handoff("lost a, c; 1 of 2 required hosts left", ("a", "c"))]


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

    assert actions[1:] == [Drop("a"), Handoff("lost b, a; 1 of 2 required hosts left", ("b", "a"))]


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

    assert isinstance(actions[-1], Handoff)


def test_a_successor_keeps_away_from_the_lost_host():
    """The hand-over names the hosts to exclude."""
    policy = Policy(hosts=("a", "b"), nodes=2, min_nodes=2)

    assert lose(policy)[1][-1] == Handoff("lost b; 1 of 2 required hosts left", ("b",))


def test_without_successors_left_a_lost_host_ends_the_run():
    """The reason names the field that says how many there may be."""
    policy = Policy(hosts=("a", "b"), nodes=2, min_nodes=2, successors=0)
    action = lose(policy)[1][-1]

    assert action.outcome == "failed"
    assert "recovery.successors" in action.reason


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


def shrunken():
    """One of two hosts trains alone since the 12th second."""
    policy = Policy(hosts=("a", "b"), nodes=2, min_nodes=1, on_host_loss="shrink")
    state, _ = told(
        policy, on("lost", "b", now=10), on("idle", "a", generation=1, now=12), state=running(policy)
    )
    return policy, state


def growing():
    """The one that trains has been asked to leave, since the other is back."""
    policy, state = shrunken()
    state, actions = told(policy, on("joined", "b", now=20), ("tick", {"now": 499.0}), state=state)
    assert actions == [RequestStop(GROWN)]
    return policy, state


def test_a_host_that_comes_back_to_fewer_than_wanted_is_taken_in_after_a_while():
    """The ranks are asked to leave for it, and the next generation has all hosts."""
    policy, state = shrunken()
    state, actions = told(
        policy, on("joined", "b", now=20), ("tick", {"now": 11 + GROW_S}), ("tick", {"now": 12 + GROW_S}),
        ("tick", {"now": 13 + GROW_S}), on("done", "a", generation=2, now=14 + GROW_S),
        on("idle", "a", generation=2, now=15 + GROW_S), state=state,
    )  # fmt: skip

    assert actions == [RequestStop(GROWN), Kill(2, ("a",), GROWN), Start(3, ("a", "b"))]


@pytest.mark.parametrize(
    "event", [on("deaf", "a", generation=2, now=500.0), ("tick", {"now": 500.0 + GROW_TIMEOUT_S})]
)
def test_ranks_that_cannot_be_asked_or_do_not_leave_are_ended(event):
    """They go on from the newest step that is kept anywhere."""
    policy, state = growing()
    _, actions = told(policy, event, on("idle", "a", generation=2, now=2000.0), state=state)

    assert actions == [Kill(2, ("a",), GROWN), Start(3, ("a", "b"))]


def test_what_was_deaf_before_is_not_heard():
    """Nor is anything ended by it that was not asked."""
    policy, state = growing()

    assert told(policy, on("deaf", "a", generation=1, now=500.0), state=state)[1] == []
    assert told(policy, on("deaf", "a", generation=1, now=500.0), state=running())[1] == []


def test_a_training_that_ends_while_it_is_to_grow_has_ended():
    """Its ranks were past their last step."""
    policy, state = growing()
    done = [on(kind, "a", generation=2, now=500.0, finished=True) for kind in ("done", "idle")]

    assert told(policy, *done, state=state)[1][-1].outcome == "finished"


def test_a_stop_goes_before_growing():
    """The ranks hear of both, and leave for the successor."""
    policy, state = growing()
    asked = "asked", {"reason": "preempted", "now": 500.0}
    done = [on(kind, "a", generation=2, now=501.0) for kind in ("done", "idle")]
    _, actions = told(policy, asked, on("deaf", "a", generation=2, now=500.5), *done, state=state)

    assert actions == [RequestStop("preempted"), Kill(2, ("a",), "stopped"), Handoff("preempted", ())]


def test_a_host_that_has_just_come_gets_ready_first():
    """It imports torch; the ranks that train would only wait for it."""
    policy, state = shrunken()
    joined = on("joined", "b", now=1000.0)

    assert told(policy, joined, ("tick", {"now": 999.0 + SETTLE_S}), state=state)[1] == []
    assert told(policy, joined, ("tick", {"now": 1000.0 + SETTLE_S}), state=state)[1] == [RequestStop(GROWN)]


@pytest.mark.parametrize(
    "not_now", [{"stop_reason": "preempted", "stop_requested_at": 10.0**6}, {"barred": ("b",)}]
)
def test_nobody_is_taken_in_who_may_not_or_when_the_ranks_are_leaving(not_now):
    """Nor is a training disturbed that has as many hosts as it wants."""
    policy, state = shrunken()
    state, _ = told(policy, on("joined", "b", now=20), state=state)
    later = ("tick", {"now": 1000.0})

    assert told(policy, later, state=replace(state, **not_now))[1] == []
    assert told(policy, later, state=running(policy))[1] == []


def test_a_host_lost_while_the_ranks_leave_for_another_is_done_without():
    """Who is left goes on."""
    policy, state = growing()
    gone = (
        on("lost", "b", now=501),
        on("done", "a", generation=2, now=502),
        on("idle", "a", generation=2, now=502),
    )
    _, actions = told(policy, *gone, state=state)

    assert actions == [Kill(2, ("a",), GROWN), Start(3, ("a",))]


def abandoned():
    """The one that trained alone is silent, when the other had just come back."""
    policy, state = shrunken()
    return policy, *told(policy, on("joined", "b", now=20), on("lost", "a", now=30), state=state)


def test_a_host_that_alone_has_the_state_is_not_left_behind_when_it_was_only_slow():
    """The other has nothing to go on with; the next generation has both."""
    policy, state, actions = abandoned()
    assert actions == []

    state, actions = told(policy, ("tick", {"now": 29 + policy.return_s}), state=state)
    assert actions == []

    assert told(policy, on("joined", "a", now=35), state=state)[1] == [Start(3, ("a", "b"))]


def test_a_host_that_alone_has_the_state_is_not_waited_for_when_it_is_gone():
    """Whoever is left goes on without it."""
    policy, state, _ = abandoned()

    assert told(policy, ("tick", {"now": 30 + policy.return_s}), state=state)[1] == [Start(3, ("b",))]


def test_hosts_that_are_all_silent_at_once_are_waited_for_before_a_successor_is():
    """It was the supervisor that was slow, or its network."""
    policy = Policy(hosts=("a", "b"), nodes=2, min_nodes=2)
    state, actions = told(policy, on("lost", "a", now=10), on("lost", "b", now=10), state=running(policy))
    assert actions == [Kill(1, ("b",), "host-lost")]

    back, later = (on("joined", host, now=12) for host in "ab"), ("tick", {"now": 10 + policy.return_s})

    assert isinstance(told(policy, later, state=state)[1][-1], Handoff)
    assert told(policy, *back, state=state)[1] == [Start(2, ("a", "b"))]


def test_a_supervisor_that_took_over_waits_for_who_trained():
    """The one before was silent, and its host counts as lost; yet that host may be there, and alone has the state."""
    policy, _ = shrunken()
    before = State(generation=2, lost_hosts=("a",), members=("a",))
    state, actions = told(policy, on("joined", "b"), state=before)
    assert actions == []

    assert told(policy, on("joined", "a", now=1), state=state)[1] == [Start(3, ("a", "b"))]
    assert told(policy, ("tick", {"now": policy.return_s}), state=state)[1] == [Start(3, ("b",))]


def test_a_supervisor_that_took_over_waits_for_nobody_when_one_who_trained_is_there():
    """It holds what the lost one had, and is all that was named (Folder.who_trained)."""
    policy, _ = shrunken()
    before = State(generation=2, lost_hosts=("a",), members=("b",))
    early = ("tick", {"now": 0.1})

    assert told(policy, early, on("joined", "b", now=0.2), state=before)[1] == [Start(3, ("b",))]


def test_a_member_that_joins_again_has_lost_its_ranks():
    """The generation is ended as if it had been seen to go, and the host takes part in the next one."""
    _, actions = told(SPARE, on("joined", "b"), on("idle", "a", generation=1), state=running())

    assert actions == [Kill(1, ("a",), "host-lost"), Start(2, ("a", "b"))]


@pytest.mark.parametrize("retryable", [False, True])
def test_a_failure_that_is_not_retryable_ends_the_run_and_words_never_do(retryable):
    """A log may quote what we write; the rank's cause alone decides."""
    how = RankExit("the loss is nan; not retryable", "3 the loss is nan", retryable=retryable)
    events = [on("idle", host, generation=1) for host in "ab"]
    _, actions = told(SPARE, on("failed", "b", generation=1, exit=how), *events, state=running())

    assert actions[-1] == (
        Start(2, ("a", "b")) if retryable else End("failed", f"{how.message}; not retryable")
    )


def test_all_ranks_leaving_well_is_the_end():
    """Exit code 0 on every host finishes the run."""
    events = (on("done", host, generation=1) for host in "ab")
    state, actions = told(
        SPARE, *events, on("idle", "a", generation=1), on("idle", "b", generation=1), state=running()
    )

    assert actions[-1] == End("finished", "every rank exited with code 0")
    assert state.phase == ENDED


def test_the_next_generation_begins_as_soon_as_every_host_has_ended_its_ranks():
    """A rank's failure needs no waiting; the same hosts go on."""
    _, actions = fail(SPARE)

    assert actions == [Kill(1, ("a", "b"), "ranks-failed"), Start(2, ("a", "b"))]


def test_a_hung_rank_ends_the_generation_and_the_next_one_begins():
    """As a dead one does; ranks that are to leave and hang have left, as far as the job is concerned."""
    hung = on("hung", "b", generation=1, now=10)
    gone = [on("idle", host, generation=1, now=11) for host in ("a", "b")]

    assert told(SPARE, hung, *gone, state=running())[1] == [Kill(1, ("a", "b"), "hung"), Start(2, ("a", "b"))]
    asked = running(stop_reason="time-limit", stop_requested_at=9)
    assert isinstance(told(SPARE, hung, *gone, state=asked)[1][-1], Handoff)


def test_a_host_on_which_ranks_hang_again_makes_room_for_a_spare():
    """When the training came no further in between."""
    state = running()
    for generation in (1, 2):
        gone = [on("idle", host, generation=generation, now=11) for host in state.members]
        state, actions = told(SPARE, on("hung", "b", generation=generation, now=10), *gone, state=state)

    assert actions[-1] == Start(3, ("a", "c"))


def test_a_host_that_died_with_its_ranks_is_noticed_while_they_are_ended():
    """Its neighbors' ranks fail first; it never says that its own are gone, and a spare takes over."""
    events = (
        on("failed", "a", generation=1, now=10), on("idle", "a", generation=1, now=10.1), on("lost", "b", now=13),
    )  # fmt: skip

    assert told(SPARE, *events, state=running())[1][-1] == Start(2, ("a", "c"))


def fail(policy, state=None, signature="", **more):
    """A rank of the running generation fails, and all hosts are alive."""
    state = state or running(policy)
    number = state.generation
    return told(
        policy,
        on("failed", "a", generation=number, exit=RankExit("words", signature), now=10),
        *(on("idle", host, generation=number, now=12, **more) for host in "ab"),
        state=state,
    )


def test_failures_that_lead_further_each_time_go_on_for_ever():
    """A newer step than any generation reached before means another try."""
    state = None
    for step in range(1, 20):
        state, actions = fail(replace(SPARE, restarts=1), state, step=step, signature="RuntimeError: x")
        assert isinstance(actions[-1], Start)


def test_failures_that_lead_no_further_end_the_run():
    """As many in a row as `restarts` says are tried again, one more is not."""
    policy = Policy(hosts=("a", "b"), nodes=2, min_nodes=2, restarts=2)
    state, _ = fail(policy, step=7)
    for _ in range(2):
        state, actions = fail(policy, state, step=7)
        assert isinstance(actions[-1], Start)
    action = fail(policy, state, step=7)[1][-1]

    assert action.outcome == "no-progress"
    assert action.reason == "ranks failed 3 times in a row without a step beyond 7"


def test_the_same_failure_twice_at_the_same_step_ends_the_run():
    """A bug of the program is not tried three times; what kills from outside is."""
    state, _ = fail(SPARE, step=7, signature="3 ValueError: bad row")
    action = fail(SPARE, state, step=7, signature="3 ValueError: bad row")[1][-1]
    other = fail(SPARE, state, step=7, signature="3 ConnectionError: reset")[1][-1]

    assert action == End("no-progress", "the same failure twice at step 7: 3 ValueError: bad row")
    assert isinstance(other, Start)


def test_a_broken_host_is_left_out_even_when_it_comes_back():
    """Its ranks' words were about it; the spare trains in its place, and it is named to a successor."""
    events = (
        on("broken", "b", generation=1, exit=RankExit("Xid 79", "1 Xid 79")),
        on("idle", "a", generation=1), on("idle", "b", generation=1),
    )  # fmt: skip
    state, actions = told(SPARE, *events, state=running())
    assert actions[-1] == Start(2, ("a", "c"))

    events = on("joined", "b"), on("lost", "c"), on("idle", "a", generation=2)
    _, actions = told(SPARE, *events, state=state)

    assert actions[-1] == Handoff("lost b, c; 1 of 2 required hosts left", ("b", "c"))


def test_a_host_that_reaches_no_others_counts_as_lost_and_trains_no_more():
    """It is there, and its agent is heard: the spare trains in its place; without one the file says what follows."""
    events = on("apart", "b"), on("idle", "a", generation=1), on("idle", "b", generation=1)
    state, actions = told(SPARE, *events, state=running())

    assert actions[0] == Kill(1, ("a", "b"), "host-lost")
    assert actions[-1] == Start(2, ("a", "c"))
    assert (state.barred, state.lost_hosts) == (("b",), ("b",))


def test_a_host_that_is_found_apart_while_its_ranks_are_being_ended_trains_no_more():
    """Their connections broke a moment before."""
    events = (
        on("failed", "b", generation=1, exit=RankExit()),
        on("apart", "b"),
        on("idle", "a", generation=1),
        on("idle", "b", generation=1),
    )
    state, actions = told(SPARE, *events, state=running())

    assert actions[-1] == Start(2, ("a", "c"))
    assert (state.barred, state.lost_hosts) == (("b",), ("b",))


def test_a_spare_that_is_apart_replaces_nobody():
    """The training goes on; when a host is lost, there is no other."""
    state, actions = told(SPARE, on("apart", "c"), state=running())
    assert actions == []
    _, actions = told(
        SPARE,
        on("joined", "c", now=11),
        on("lost", "b", now=12),
        on("idle", "a", generation=1, now=13),
        state=state,
    )

    assert not [each for each in actions if isinstance(each, Start)]


def test_a_host_that_fails_twice_in_a_row_makes_room_for_a_spare():
    """Whatever it is, another host may not have it."""
    state, _ = fail(SPARE)
    state, actions = fail(SPARE, state)

    assert actions[-1] == Start(3, ("b", "c"))


def test_without_a_spare_a_host_that_fails_again_stays():
    """There is nobody to take its place."""
    policy = replace(SPARE, hosts=("a", "b"))
    state, _ = fail(policy)
    _, actions = fail(policy, state)

    assert actions[-1] == Start(3, ("a", "b"))


def test_no_restarts_wanted_means_none():
    """`restarts: 0` ends the run at the first failure, progress or not."""
    assert fail(replace(SPARE, restarts=0), step=50)[1][-1].outcome == "failed"


@pytest.mark.parametrize(
    ("reason", "last"),
    [("time-limit", Handoff("time-limit", ())), ("cancelled", End("cancelled", "canceled by the user"))],
)
def test_ranks_that_were_asked_leave_and_then_it_is_decided(reason, last):
    """A time limit leads to a successor, a person's wish to the end."""
    state, actions = told(SPARE, ("asked", {"reason": reason}), state=running())
    assert actions == [RequestStop(reason)]

    exits = (on("done", host, generation=1) for host in "ab")
    _, actions = told(
        SPARE, *exits, on("idle", "a", generation=1), on("idle", "b", generation=1), state=state
    )

    assert actions[-1] == last


def test_ranks_that_do_not_leave_are_ended_after_the_grace():
    """A script that knows nothing of the stop file cannot hold the job."""
    state, _ = told(SPARE, ("asked", {"reason": "time-limit", "now": 100}), state=running())
    _, actions = told(SPARE, ("tick", {"now": 100 + SPARE.grace_s}), state=state)

    assert actions == [Kill(1, ("a", "b"), "stopped")]


def test_a_training_that_finishes_while_it_is_asked_to_stop_is_finished():
    """finished.json wins over the wish."""
    state, _ = told(SPARE, ("asked", {"reason": "time-limit"}), state=running())
    exits = (on("done", host, generation=1, finished=True) for host in "ab")
    idles = (on("idle", host, generation=1, finished=True) for host in "ab")

    assert told(SPARE, *exits, *idles, state=state)[1][-1].outcome == "finished"


def test_what_an_older_generation_reports_is_not_heard():
    """Messages are fenced by the generation's number."""
    state, _ = lose(SPARE)

    assert (
        told(
            SPARE,
            on("failed", "a", generation=1),
            on("done", "c", generation=1),
            state=state,
        )[0]
        == state
    )


anything = st.tuples(
    st.sampled_from(
        ["joined", "joined", "lost", "idle", "idle", "done", "done", "failed", "broken", "apart", "deaf", "asked",
         "tick"]
    ),
    st.sampled_from([*HOSTS, "d"]), st.floats(0, 40), st.integers(0, 2), st.integers(0, 9),
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
    all_join = [("joined", host, 0.1, 0, 0, False, "") for host in policy.hosts]
    for kind, host, later, back, step, finished, why in all_join + happenings:
        now += later
        generation = state.generation - back
        if generation == state.generation and kind in ("idle", "done"):
            if kind == "idle" and host in training and state.phase == "running":
                continue  # an agent says so only when it was told to end its ranks
            training.discard(host)
        if kind in ("joined", "lost"):
            training.discard(host)  # an agent ends its ranks before it connects, and when it is silent
        state, actions = decide(policy, state, Event(kind, now, host, generation, why, step, finished))
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
            if isinstance(action, Handoff):
                assert policy.successors > 0
            ends += isinstance(action, End | Handoff)
