"""Who is cut off, and who is followed."""

import socket
from types import SimpleNamespace

import pytest

from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.peers import PeerEvent
from clusterwright.onhost.supervisor.quorum import Quorum


class Heard:
    """What is looked at of a peer: when it was heard."""

    def __init__(self, at):
        self.last_message_at = at


@pytest.fixture
def standing(tmp_path):
    """The first supervisor of job 7, on host a."""
    folder = Folder(str(tmp_path))
    folder.join_chain("7")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Quorum(folder, "7", 1, "a", listener)


def look(standing, now, reach, **heard):
    """Whether it is in touch; a silence is 4 s."""
    peers = {host: Heard(at) for host, at in heard.items()}
    return standing.in_touch(peers, now, 4.0, lambda: reach)


def test_who_hears_no_other_host_and_not_slurm_is_cut_off(standing):
    """Its own agent does not count, and half a silence is enough to doubt."""
    assert look(standing, 100.0, reach=False, a=100.0, b=99.0)
    assert look(standing, 100.9, reach=False, a=100.9, b=99.0)
    assert not look(standing, 101.1, reach=False, a=101.1, b=99.0)
    assert not look(standing, 101.2, reach=True, a=101.2, b=99.0)


def test_who_is_heard_again_is_in_touch(standing):
    """By a host, or by Slurm, which is asked once a second."""
    look(standing, 100.0, reach=False, b=99.0)
    look(standing, 102.0, reach=False, b=99.0)
    assert look(standing, 103.1, reach=True, b=99.0)

    look(standing, 110.0, reach=False, b=109.0)
    assert not look(standing, 112.0, reach=False, b=109.0)
    assert look(standing, 112.1, reach=False, b=112.0)


def test_who_is_alone_and_reaches_slurm_has_lost_the_others(standing):
    """And does not ask again until it has heard somebody."""
    look(standing, 100.0, reach=False, b=99.0)
    assert look(standing, 102.0, reach=True, b=99.0)
    assert look(standing, 105.0, reach=False)


def test_who_asks_slurm_goes_on_until_there_is_an_answer(standing):
    """Agents that heard nothing meanwhile would look for another supervisor; nobody is given up for lost."""
    look(standing, 100.0, reach=False, b=99.0)
    assert look(standing, 102.0, reach=None, b=99.0)
    assert look(standing, 102.1, reach=None, b=99.0)
    assert standing.asking

    assert not look(standing, 102.2, reach=False, b=99.0)
    assert not standing.asking


def test_who_is_heard_again_asks_no_more(standing):
    """Whatever the answer would have been."""
    look(standing, 100.0, reach=False, b=99.0)
    look(standing, 102.0, reach=None, b=99.0)

    assert look(standing, 102.1, reach=False, b=102.0)
    assert not standing.asking


def test_losses_wait_until_slurm_has_answered(standing):
    """A supervisor whose own link is down sees the others' connections break before it knows that it is cut off."""
    look(standing, 100.0, reach=False, b=100.0, c=100.0)
    assert not standing.in_doubt({"c": Heard(100.0)}, 100.1, 4.0)
    assert standing.in_doubt({}, 100.1, 4.0)
    assert standing.in_doubt({"c": Heard(98.0)}, 100.1, 4.0)
    assert not look(standing, 102.1, reach=False, b=100.0)
    assert standing.in_doubt({}, 102.2, 4.0)

    assert look(standing, 103.2, reach=True)
    assert not standing.in_doubt({}, 103.3, 4.0)


def test_deferred_losses_are_given_once(standing):
    """Of the host that is back, or of all."""
    losses = [PeerEvent("lost", SimpleNamespace(host=host), {}, "No route to host") for host in ("b", "c")]
    for loss in losses:
        standing.defer(loss)

    assert standing.resolve("c") == losses[1:]
    assert standing.resolve() == losses[:1]
    assert standing.resolve() == standing.resolve("b") == []


def test_who_has_heard_nobody_yet_is_not_cut_off(standing):
    """A job of one host, or the first second of any."""
    assert look(standing, 100.0, reach=False)
    assert look(standing, 100.0, reach=False, a=100.0)


def test_a_follower_is_seen_and_where_it_is(standing, tmp_path):
    """A job must not end with a supervisor that is followed inside it."""
    assert (standing.followed_by, standing.followed_inside) == ("", False)

    Folder(str(tmp_path)).claim("chain/2", "7")
    assert (standing.followed_by, standing.followed_inside) == ("7", True)


def test_the_pulse_says_where_the_supervisor_is(standing, tmp_path):
    """And at last that it is over."""
    standing.show(3)
    first = Folder(str(tmp_path)).read("pulse")
    standing.show(3, over=True)

    assert (first["number"], first["beats"], first["host"], first["over"]) == (1, 3, "a", False)
    assert first["port"] > 0
    assert Folder(str(tmp_path)).read("pulse")["over"]
