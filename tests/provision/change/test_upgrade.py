"""From one release of Slurm to another: what may be, and in which order."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import WrightError
from clusterwright.provision.change.upgrade import (
    SOURCES,
    in_batches,
    is_of,
    newer,
    refuse_span,
    steps,
)

HOSTS = ("control", "gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4")


def everywhere(version):
    """The same on all hosts."""
    return dict.fromkeys(HOSTS, version)


@pytest.mark.parametrize(
    ("have", "wanted"),
    [
        ("24.11.5", "26.05"),
        ("22.05.8", "23.11"),
        ("23.11.4", "24.11.5"),
        ("24.11.1", "24.11.5"),
        ("24.11.5", "24.11"),
    ],
)
def test_a_span_that_slurm_takes_is_let_through(have, wanted):
    """A release that its notes name, a later one of the same, or the same."""
    assert refuse_span(everywhere(have), wanted) is None


@pytest.mark.parametrize(
    ("have", "wanted", "message"),
    [
        ("22.05.8", "24.11", "22.05.8; 24.11 upgrades only from 23.02, 23.11, 24.05"),
        ("26.05.1", "25.11", "newer than 25.11; Slurm has no downgrade"),
        ("24.11.5", "24.11.4", "newer than 24.11.4"),
        ("24.11.5", "27.11", "Slurm 27.11 is not supported"),
    ],
)
def test_any_other_is_refused(have, wanted, message):
    """Before a host is touched, with exit code 2."""
    with pytest.raises(WrightError, match=message) as error:
        refuse_span(everywhere(have), wanted)

    assert error.value.exit_code == 2


def test_the_way_by_releases_in_between_is_said():
    """The fewest: each of them may follow the one before."""
    with pytest.raises(WrightError, match=r"upgrade to 23\.02, 24\.11 first"):
        refuse_span(everywhere("22.05.8"), "26.05")
    with pytest.raises(WrightError, match=r"upgrade to 23\.02 first"):
        refuse_span(everywhere("22.05.8"), "24.11")


def test_one_old_host_is_enough_to_refuse():
    """It is named; the others are not."""
    with pytest.raises(WrightError, match=r"gpu-node3 has Slurm 22\.05\.8"):
        refuse_span(everywhere("24.11.5") | {"gpu-node3": "22.05.8"}, "26.05")


def test_every_release_follows_earlier_ones_only():
    """The table is in order, and each release is reached from the one before."""
    releases = list(SOURCES)

    assert releases == sorted(releases)
    for release, sources in SOURCES.items():
        assert all(newer(release, source) for source in sources)
    assert all(before in SOURCES[after] for before, after in pairwise(releases))


def test_the_steps_are_in_slurms_order(said, text):
    """slurmdbd, slurmctld, one slurmd, the others in batches."""
    cluster = said(text).cluster
    found = [(step.kind, step.hosts) for step in steps(cluster, everywhere("22.05.8"), "23.11", 2)]

    assert found == [
        ("slurmdbd", ("control",)),
        ("slurmctld", ("control",)),
        ("slurmd", ("gpu-node1",)),
        ("slurmd", ("gpu-node2", "gpu-node3")),
        ("slurmd", ("gpu-node4",)),
    ]


def test_hosts_that_have_the_release_are_in_no_step(said, text):
    """So an upgrade that was cut short goes on; without accounting there is no slurmdbd."""
    cluster = said(text + "\naccounting: {enabled: false}\n").cluster
    have = everywhere("23.11.4") | {"gpu-node3": "22.05.8"}

    assert [(step.kind, step.hosts) for step in steps(cluster, have, "23.11", 2)] == [
        ("slurmd", ("gpu-node3",))
    ]
    assert steps(cluster, everywhere("23.11.4"), "23.11", 2) == ()


@given(st.integers(0, 50), st.integers(1, 20))
def test_batches_hold_every_host_once(count, size):
    """The first alone, none larger than asked."""
    hosts = [f"n{number}" for number in range(count)]
    found = in_batches(hosts, size)

    assert [host for batch in found for host in batch] == hosts
    assert all(len(batch) <= size for batch in found)
    assert not found or len(found[0]) == 1


def test_a_version_is_of_a_release_by_whole_numbers():
    """24.110 is not of 24.11, though it begins so."""
    assert is_of("24.11.5-4", "24.11")
    assert not is_of("24.110", "24.11")
    assert not is_of("", "24.11")
