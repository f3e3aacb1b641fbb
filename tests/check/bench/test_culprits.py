"""On models of fabrics: a host, an uplink and a way between are told apart."""

from math import ceil, log2

from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.check.bench.culprits.culprits import Counted, Culprit, culprits

SHAPES = (st.integers(2, 8), st.integers(2, 16), st.data())


def fabric(leaves, each):
    """Hosts by name, and the switch of each."""
    return {f"n{leaf}-{index}": f"leaf{leaf}" for leaf in range(leaves) for index in range(each)}


def way(one, other):
    """Slow for a group that has hosts on both sides."""
    return lambda groups: tuple(bool({*group} & {*one} and {*group} & {*other}) for group in groups)


@settings(deadline=None)
@given(*SHAPES)
def test_a_slow_host_is_found_beside_its_own_switch(leaves, each, data):
    """In log2(N) + 2 rounds, the one that showed the whole to be slow among them."""
    switches = fabric(leaves, each)
    bad = data.draw(st.sampled_from(sorted(switches)))
    slow = Counted(lambda groups: tuple(bad in group for group in groups))

    assert culprits(tuple(switches), slow, switches) == (Culprit("host", (bad,)),)
    assert 1 + slow.rounds <= log2(len(switches)) + 2


@settings(deadline=None)
@given(*SHAPES)
def test_a_slow_uplink_is_named_by_its_switch(leaves, each, data):
    """It is slow to every other switch; of two switches nobody knows whose it is."""
    switches = fabric(leaves, each)
    leaf = data.draw(st.sampled_from(sorted({*switches.values()})))
    inside = [host for host, name in switches.items() if name == leaf]
    slow = Counted(way(inside, [host for host in switches if host not in inside]))

    (found,) = culprits(tuple(switches), slow, switches)
    assert found == (Culprit("uplink", (leaf,)) if leaves > 2 else Culprit("switches", ("leaf0", "leaf1")))
    assert slow.rounds <= ceil(log2(leaves)) + 3


@settings(deadline=None)
@given(st.integers(3, 8), st.integers(2, 16), st.data())
def test_a_slow_way_between_two_switches_is_not_laid_on_hosts(leaves, each, data):
    """It is named by the switches at its ends."""
    switches = fabric(leaves, each)
    names = st.sampled_from(sorted({*switches.values()}))
    ends = data.draw(st.lists(names, min_size=2, max_size=2, unique=True))
    sides = [[host for host, name in switches.items() if name == end] for end in ends]

    (found,) = culprits(tuple(switches), way(*sides), switches)
    assert (found.kind, {*found.names}) == ("switches", {*ends})


@settings(deadline=None)
@given(*SHAPES)
def test_a_slow_way_between_two_hosts_of_two_switches_is_found(leaves, each, data):
    """Their switches are well together by other hosts, or are named where these two stand for them."""
    switches = fabric(leaves, each)
    hosts = st.sampled_from(sorted(switches))
    ends = data.draw(
        st.lists(hosts, min_size=2, max_size=2, unique_by=lambda host: switches[host]).filter(
            lambda pair: not all(host.endswith("-0") for host in pair)
        )
    )

    (found,) = culprits(tuple(switches), way(ends[:1], ends[1:]), switches)
    assert (found.kind, {*found.names}) == ("way", {*ends})


def test_without_switches_the_hosts_are_one_group():
    """As on a single switch; three hosts by their pairs."""
    slow = Counted(lambda groups: tuple("b" in group for group in groups))

    assert culprits(("a", "b", "c"), slow) == (Culprit("host", ("b",)),)
    assert slow.rounds == 3


def test_two_hosts_are_not_told_apart():
    """One pair says nothing of its ends."""
    assert culprits(("a", "b"), lambda groups: (True,) * len(groups)) == (Culprit("open", ("a", "b")),)
