import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.hang import inquiry
from clusterwright.onhost.supervisor.hang.inquiry import Inquiry

PAUSED, STEPPING = 2, 1


def rank(number, groups=None, **more):
    """What a host tells of a rank that stands still for two seconds."""
    told = {
        "rank": number, "local_rank": number, "step": 10, "phase": STEPPING, "stalled_s": 2.0, "heartbeat_age_s": 0.1,
        "state": "S",
        "groups": {"all": 100} if groups is None else groups, "moves": True, "limit_s": 1.0, "long_s": 60.0,
    }  # fmt: skip
    return {**told, **more}


def suspected(*ranks):
    """Numbers of those that are suspected, when these are all."""
    still = [inquiry.Rank(host="a", **one) for one in ranks]
    chosen = inquiry.stopped(still) or inquiry.suspects(still) or inquiry.overdue(still)
    return [each.rank for each in chosen]


def found(number, verdict="hung", *, proven=False):
    """What an examination says."""
    return {"rank": number, "verdict": verdict, "message": f"{verdict} somewhere", "proven": proven}


def test_who_started_fewer_collectives_is_behind():
    """The others wait in the next one."""
    assert suspected(rank(0), rank(1, {"all": 99}), rank(2)) == [1]


def test_nobody_is_behind_when_all_started_as_many():
    """They save, load or evaluate."""
    assert suspected(rank(0), rank(1)) == []


def test_groups_are_compared_one_by_one():
    """A rank with a group of its own has not started more than others."""
    assert suspected(rank(0, {"all": 100, "first": 70}), rank(1), rank(2)) == []


def test_who_waits_for_the_one_behind_is_not_suspected():
    """Rank 1 is late in `all` because rank 2 keeps it waiting in `pair`."""
    late = rank(1, {"all": 99, "pair": 41})

    assert suspected(rank(0), late, rank(2, {"all": 99, "pair": 40})) == [2]


def test_steps_tell_where_there_are_no_collectives():
    """Ranks that meet in another way."""
    assert suspected(rank(0, {}, step=11), rank(1, {})) == [1]


def test_a_stopped_rank_is_suspected_though_it_is_not_behind():
    """It was stopped inside a collective."""
    assert suspected(rank(0), rank(1, state="T")) == [1]


def test_a_rank_without_life_is_suspected_though_it_is_not_behind():
    """Its interpreter has not run for longer than the limit."""
    assert suspected(rank(0), rank(1, heartbeat_age_s=1.5)) == [1]


def test_a_rank_that_says_that_it_pauses_may_take_longer():
    """Evaluation on rank 0 alone, while the others wait in a barrier."""
    assert suspected(rank(0, {"all": 99}, phase=PAUSED), rank(1), rank(2)) == []
    assert suspected(rank(0, {"all": 99}, phase=PAUSED, stalled_s=61.0), rank(1), rank(2)) == [0]


def test_everyone_is_examined_after_the_long_limit():
    """Also those that crossed it a moment later."""
    assert suspected(rank(0, stalled_s=60.1), rank(1, stalled_s=59.9)) == [0, 1]


def test_a_script_that_never_moved_is_not_suspected():
    """It shows nothing; what it does is not known."""
    assert suspected(rank(0, {}, step=0, stalled_s=9999.0, moves=False)) == []


group_counts = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), max_size=3)


@given(st.lists(group_counts, min_size=1, max_size=6))
def test_some_are_behind_but_never_all_of_one_group(counts):
    """Whoever is behind has somebody ahead of it in a group that both are in."""
    ranks = [inquiry.Rank(host="a", **rank(number, groups)) for number, groups in enumerate(counts)]

    for late in inquiry.stragglers(ranks):
        if any(counts):
            assert any(
                other.groups[name] > number
                for name, number in late.groups.items() for other in ranks if name in other.groups
            )  # fmt: skip


def test_nothing_is_asked_before_every_host_has_spoken():
    """A host that goes on is no standstill."""
    case = Inquiry(["a", "b"])
    case.receive("a", [rank(0)], 0.5, 0.0)
    assert case.due(0.1) == {}
    case.receive("b", [rank(1, {"all": 99})], 0.5, 0.2)

    assert case.due(0.3) == {"b": [1]}
    assert case.due(0.4) == {}


def test_a_stopped_rank_is_asked_about_before_the_others_stand_still_for_long():
    """Its host says so; the others' limits may be far."""
    case = Inquiry(["a", "b"])
    case.receive("a", [rank(0, state="T")], 0.5, 0.0)

    assert case.due(0.1) == {"a": [0]}


def test_what_was_said_long_ago_counts_no_more():
    """The host has moved since; it would have said it again."""
    case = Inquiry(["a", "b"])
    case.receive("a", [rank(0)], 0.5, 0.0)
    case.receive("b", [rank(1, {"all": 99})], 0.5, 3.0)

    assert case.due(3.1) == {}


def test_a_host_that_moves_again_ends_the_case():
    """It says so, and nobody is examined."""
    case = Inquiry(["a", "b"])
    case.receive("a", [rank(0)], 0.5, 0.0)
    case.receive("a", [], 0.0, 0.1)
    case.receive("b", [rank(1, {"all": 99})], 0.5, 0.2)

    assert case.due(0.3) == {}


def test_a_hung_rank_is_a_verdict():
    """With how long it has stood still, and whether there is no doubt."""
    case = Inquiry(["a", "b"])
    case.receive("a", [rank(0)], 0.5, 0.0)
    case.receive("b", [rank(1, {"all": 99})], 0.5, 0.0)
    case.due(0.0)

    (hung,) = case.examined([found(1, proven=True)], 1.0)

    assert (hung.rank, hung.host, hung.step, hung.seconds, hung.proven) == (1, "b", 10, 3.0, True)


@pytest.mark.parametrize("verdict", ["active", "starved", "gone"])
def test_a_rank_that_works_is_asked_again_later_and_later(verdict):
    """After as long as it has stood still."""
    case = Inquiry(["a"])
    case.receive("a", [rank(0), rank(1, {"all": 99}, stalled_s=5.0)], 0.5, 0.0)
    case.due(0.0)
    assert case.examined([found(1, verdict)], 1.0) == []
    case.receive("a", [rank(0), rank(1, {"all": 99}, stalled_s=10.0)], 0.5, 5.5)

    assert case.due(5.9) == {}
    assert case.due(6.0) == {"a": [1]}


def test_one_that_works_excuses_those_that_wait():
    """Nobody is behind: the verdict needs every answer, and every one must be hung."""
    still = [rank(number, stalled_s=61.0) for number in range(3)]
    case = Inquiry(["a"])
    case.receive("a", still, 0.5, 0.0)
    assert case.due(0.0) == {"a": [0, 1, 2]}
    assert case.examined([found(0), found(1, "active")], 1.0) == []
    assert case.examined([found(2)], 1.2) == []

    again = Inquiry(["a", "b"])
    again.receive("a", still[:2], 0.5, 0.0)
    again.receive("b", still[2:], 0.5, 0.0)
    again.due(0.0)
    assert again.examined([found(0), found(1)], 1.0) == []
    assert [each.rank for each in again.examined([found(2)], 1.2)] == [0, 1, 2]


def test_an_answer_that_never_comes_is_asked_for_again():
    """The host may have been lost; its silence is found in another way."""
    case = Inquiry(["a"])
    case.receive("a", [rank(0), rank(1, {"all": 99})], 0.5, 0.0)
    case.due(0.0)
    case.receive("a", [rank(0), rank(1, {"all": 99})], 0.5, 15.5)

    assert case.due(14.0) == {}
    assert case.due(16.0) == {"a": [1]}
