"""Hosts come and go in the file; the addresses of all others stay."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.config.reader import read
from clusterwright.errors import SpecError, WrightError
from clusterwright.provision.change.fields import ClusterFile
from clusterwright.provision.change.hosts import refuse_to_remove, with_hosts, without_hosts

TEXT = (Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml").read_text()
COURSE = """reservations:
  course: {hosts: 'gpu-node[2-3]', start: 2027-01-15T08:00, duration: 8h, maintenance: true}
"""
NAMES = ["gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"]


def of(text):
    """What a text says."""
    return ClusterFile.from_source(read(text, "cluster.yaml"))


def places(text):
    """Management address by host."""
    return {host.name: str(host.management) for host in of(text).cluster.hosts()}


def test_new_hosts_get_the_next_addresses():
    """Only the hostlist of the text is another."""
    grown = with_hosts(of(TEXT), "a100", ("gpu-node5", "gpu-node7"))

    assert grown == TEXT.replace("gpu-node[1-4]", "gpu-node[1-5,7]")
    assert places(grown) == places(TEXT) | {"gpu-node5": "10.77.0.15", "gpu-node7": "10.77.0.16"}


def test_hosts_that_are_there_are_no_change():
    """So the same command may be run again."""
    assert with_hosts(of(TEXT), "a100", ("gpu-node1", "gpu-node4")) == TEXT


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
@settings(max_examples=15, deadline=None)
def test_taken_out_one_by_one_and_put_back_nothing_has_moved(leaving):
    """Whatever the order: the others keep their addresses, and the text is the first one again."""
    text = TEXT
    for host in leaving:
        text = without_hosts(of(text), [host])
        assert places(text) == {name: at for name, at in places(TEXT).items() if name in places(text)}
    assert set(places(TEXT)) - set(places(text)) == set(leaving)

    for host in sorted(leaving):
        text = with_hosts(of(text), "a100", (host,))
    assert text == TEXT


def test_the_last_ones_leave_the_list_and_others_are_absent():
    """A gap keeps its address; when those behind it go, so does the gap."""
    cut = without_hosts(of(TEXT), ["gpu-node3"])

    assert cut == TEXT.replace("hosts: gpu-node[1-4]\n", "hosts: gpu-node[1-4]\n    absent: gpu-node3\n")
    assert without_hosts(of(cut), ["gpu-node4"]) == TEXT.replace("gpu-node[1-4]", "gpu-node[1-2]")


def test_a_name_that_would_move_others_is_refused():
    """It sorts before them, so it would have their addresses."""
    with pytest.raises(WrightError, match="host-moves-others") as error:
        with_hosts(of(TEXT), "a100", ("gpu-node0",))

    assert error.value.exit_code == 2


def test_addresses_that_clash_or_leave_the_subnet_are_refused_by_the_file_itself():
    """The rules that every file is held to say so, with both places."""
    near = TEXT.replace("10.77.0.10,", "10.77.0.15,")
    far = TEXT.replace("10.77.0.11,", "10.77.0.251,")

    with pytest.raises(SpecError, match="address-taken"):
        of(with_hosts(of(near), "a100", ("gpu-node5",)))
    with pytest.raises(SpecError, match="address-outside-network"):
        of(with_hosts(of(far), "a100", ("gpu-node5",)))


def test_an_unknown_group_or_host_is_named_with_what_is_meant():
    """Both with exit code 2."""
    with pytest.raises(WrightError, match="did you mean `a100`"):
        with_hosts(of(TEXT), "a10", ("gpu-node5",))
    with pytest.raises(WrightError, match="did you mean `gpu-node1`"):
        refuse_to_remove(of(TEXT).cluster, ["gpu-noed1"])


@pytest.mark.parametrize(
    ("more", "host", "words"),
    [
        ("", "control", "control is a control host"),
        (
            COURSE,
            "gpu-node3",
            "gpu-node3 is in reservation `course`",
        ),
    ],
)
def test_hosts_that_others_need_stay(more, host, words):
    """By name, with what to do first."""
    with pytest.raises(WrightError, match=words):
        refuse_to_remove(of(TEXT + more).cluster, [host])


def test_a_file_server_stays():
    """Its folder would be gone for all."""
    text = TEXT.replace("{kind: local, path: /shared}", "{kind: nfs, server: gpu-node2, path: /shared}")

    with pytest.raises(WrightError, match="gpu-node2 is the NFS server of /shared"):
        refuse_to_remove(of(text).cluster, ["gpu-node2"])
