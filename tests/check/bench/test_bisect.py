"""Bisecting on models of slow hosts and links: the part is found, in few rounds, whichever it is."""

from math import ceil, log2

from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.check.bench.culprits.bisect import bisect
from clusterwright.check.bench.culprits.culprits import SlowLink, find_slow_link


def hosts_of(count):
    """n0 and so on."""
    return tuple(f"n{index}" for index in range(count))


def slow_hosts(*bad):
    """A group is slow when it holds one of these; groups of a round must not share a host, nor be of one."""

    def slow(groups):
        flat = [host for group in groups for host in group]
        assert len(flat) == len(set(flat)), groups
        assert all(len(group) > 1 for group in groups), groups
        return tuple(bool({*group} & {*bad}) for group in groups)

    return slow


def slow_way(*ends):
    """A group is slow when it holds a host of each of two sets."""
    return lambda groups: tuple(all({*group} & {*end} for end in ends) for group in groups)


@settings(deadline=None)
@given(st.integers(3, 300), st.data())
def test_one_slow_host_is_found_in_few_rounds(count, data):
    """By name, in log2(N) + 2 rounds at most."""
    bad = data.draw(st.sampled_from(hosts_of(count)))

    found = bisect(hosts_of(count), slow_hosts(bad))
    assert found.hosts == (bad,)
    assert (found.slow_pairs, found.open) == ((), ())
    assert found.rounds <= log2(count) + 2


@settings(deadline=None)
@given(st.integers(4, 200), st.data())
def test_two_slow_hosts_are_both_found(count, data):
    """Wherever they stand; good ones are never named."""
    bad = data.draw(st.lists(st.sampled_from(hosts_of(count)), min_size=2, max_size=2, unique=True))

    found = bisect(hosts_of(count), slow_hosts(*bad))
    assert {*found.hosts} == {*bad}
    assert found.open == ()
    assert found.rounds <= ceil(log2(count)) + 5  # of all pairs among 4 to 39 hosts, 5 hosts take longest


@settings(deadline=None)
@given(st.integers(1, 200))
def test_a_fleet_that_is_well_takes_one_round(count):
    """Or the pairs of three hosts; nothing is named."""
    found = bisect(hosts_of(count), slow_hosts())

    assert (found.hosts, found.slow_pairs, found.open) == ((), (), ())
    assert found.rounds <= (3 if count <= 3 else 1)


@settings(deadline=None)
@given(st.integers(2, 64))
def test_where_all_are_slow_nothing_is_told_apart(count):
    """The hosts are named as open, not as faulty: what is expected may be wrong, or something that all share."""
    found = bisect(hosts_of(count), slow_hosts(*hosts_of(count)))

    assert found.hosts == ()
    assert {host for group in found.open for host in group} == {*hosts_of(count)}


@settings(deadline=None)
@given(st.integers(3, 128), st.data())
def test_a_slow_way_between_two_hosts_is_found(count, data):
    """The halves are well and their whole is not; then the two ends, in twice as many rounds as a host takes."""
    ends = data.draw(st.lists(st.sampled_from(hosts_of(count)), min_size=2, max_size=2, unique=True))
    slow = slow_way(ends[:1], ends[1:])

    found = bisect(hosts_of(count), slow)
    assert found.hosts == ()
    way = find_slow_link(*found.slow_pairs[0], slow)
    assert {*way.ends} == {*ends}
    assert found.rounds + way.rounds <= 2 * ceil(log2(count)) + 3


def test_a_way_says_how_many_rounds_it_took():
    """Two hosts by themselves need none: they were measured as their whole."""
    assert find_slow_link(("a",), ("b",), slow_way("a", "b")) == SlowLink(("a", "b"), 0)
