"""Who measures with whom."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.check.bench.rounds import disjoint_rounds, round_robin


@settings(deadline=None)
@given(st.integers(0, 65))
def test_every_pair_meets_once_in_as_few_rounds_as_there_can_be(count):
    """N - 1 rounds for even N, N for odd N; nobody is in two pairs of a round."""
    hosts = tuple(f"n{index}" for index in range(count))
    rounds = round_robin(hosts)
    met = [frozenset(pair) for pairs in rounds for pair in pairs]

    assert len(met) == len({*met})
    assert {*met} == {frozenset(pair) for pair in combinations(hosts, 2)}
    assert all(len({host for pair in pairs for host in pair}) == 2 * len(pairs) for pairs in rounds)
    assert len(rounds) == (count - 1 + count % 2 if count > 1 else max(0, count))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(10, 19))))
def test_any_pairs_are_laid_apart(pairs):
    """Each of them once, and nobody twice in a round."""
    named = [(f"n{one}", f"n{other}") for one, other in pairs]
    rounds = disjoint_rounds(named)

    assert sorted(pair for each in rounds for pair in each) == sorted({*named})
    assert all(len({host for pair in each for host in pair}) == 2 * len(each) for each in rounds)
