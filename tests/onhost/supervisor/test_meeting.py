"""Who of a job's hosts reach the store of a generation, by real sockets, and who is to blame where one does not."""

import queue
import socket
from types import SimpleNamespace

import pytest

from clusterwright.onhost.supervisor import meeting

LO = "127.0.0.1"


def said(place, limit_s=0.5):
    """What an agent answers of a store at that place."""
    answers = queue.Queue()
    meeting._probe(3, place, LO, answers.put, limit_s)
    return answers.get(timeout=5)


def test_a_store_that_listens_is_reached():
    """Through a thread of its own, as the agent does it."""
    answers = queue.Queue()
    with socket.create_server((LO, 0)) as store:
        place = {"address": LO, "port": store.getsockname()[1]}
        meeting.start_probe({"meet": 3, **place}, LO, answers.put)

        assert answers.get(timeout=10) == {"met": 3, "well": True}


def test_a_store_that_has_gone_is_no_fault_of_the_network():
    """The host has answered that nobody listens."""
    with socket.create_server((LO, 0)) as store:
        place = store.getsockname()

    assert said(place) == {"met": 3, "well": True}


def test_a_host_that_answers_nothing_is_apart():
    """The kernel drops connections that nobody accepts, as a cut network would."""
    with socket.create_server((LO, 0), backlog=0) as store:
        waiting = []
        for _ in range(4):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(store.getsockname())
        answer = said(store.getsockname())
        for each in waiting:
            each.close()

    assert answer == {"met": 3, "well": False}


class Told:
    """Agents on these hosts, and what they were told."""

    def __init__(self, *hosts):
        self.by_host = {host: SimpleNamespace(host=host, address="10.0.0.1") for host in hosts}
        self.told = []

    def send(self, host, message):
        """Kept."""
        self.told.append((host, message["meet"]))


NOW = 100.0


def asked(*hosts, number=3):
    """A meeting of these hosts, whose store is on the first."""
    peers = Told(*hosts)
    found = meeting.Meeting(peers)
    found.probe_all(number, peers.by_host[hosts[0]], 29500, NOW)
    return found, peers


@pytest.mark.parametrize(
    ("answers", "guilty"),
    [
        ((("b", True), ("c", True)), []),
        ((("c", True), ("b", False)), ["b"]),
        ((("b", False), ("c", True)), ["b"]),
        ((("b", False), ("c", False)), ["a"]),
        ((("b", False),), []),
        ((("x", False), ("b", True), ("c", True)), []),
    ],
    ids=[
        "all meet",
        "one does not",
        "and says so first",
        "nobody does",
        "not all have answered",
        "nobody was asked",
    ],
)
def test_who_is_to_blame(answers, guilty):
    """One that others are not like; the store's own host where nobody comes through."""
    found, peers = asked("a", "b", "c")

    told = [found.receive(host, {"met": 3, "well": well}) for host, well in answers]

    assert sorted(peers.told) == [("b", 3), ("c", 3)]
    assert [host for each in told for host, _ in each] == guilty
    assert set(found.joined) == {"a", "b", "c"} - set(guilty)


def test_of_two_hosts_the_one_that_asked_is_blamed():
    """There is no witness; the other one can train on alone."""
    found, _ = asked("a", "b")

    assert found.receive("b", {"met": 3, "well": False}) == [
        ("b", "no connection between it and a on the ranks' network")
    ]


def test_who_is_known_to_be_apart_is_no_witness():
    """It would answer that it does not come through, whoever has the store."""
    found, peers = asked("a", "b", "c")
    found.receive("c", {"met": 3, "well": True})
    found.receive("b", {"met": 3, "well": False})
    peers.told.clear()
    found.probe_all(4, peers.by_host["a"], 29501, NOW + 1)

    assert peers.told == [("c", 4)]
    assert found.receive("b", {"met": 4, "well": False}) == []


def test_who_met_once_is_asked_again_but_not_at_once():
    """A network that is cut later is found by that: who answered well before has to answer again."""
    found, peers = asked("a", "b", "c")
    for host in ("b", "c"):
        found.receive(host, {"met": 3, "well": True})
    peers.told.clear()

    found.reprobe(NOW + meeting.RECHECK_S - 1)
    assert peers.told == []
    found.reprobe(NOW + meeting.RECHECK_S)
    assert sorted(peers.told) == [("b", 3), ("c", 3)]
    assert found.receive("b", {"met": 3, "well": False}) == []
    assert [host for host, _ in found.receive("c", {"met": 3, "well": True})] == ["b"]


def test_a_store_is_not_asked_by_too_many_at_once():
    """Four thousand hosts take forty seconds."""
    found, peers = asked(*(f"n{number}" for number in range(4001)))
    peers.told.clear()

    found.reprobe(NOW + meeting.RECHECK_S)
    assert peers.told == []
    found.reprobe(NOW + 40)
    assert len(peers.told) == 4000


def test_without_a_first_question_there_is_no_second():
    """Ranks that torchrun starts have a store of torchrun's."""
    peers = Told("a", "b")
    meeting.Meeting(peers).reprobe(NOW)

    assert peers.told == []


def test_an_answer_about_an_earlier_generation_says_nothing():
    """It took eight seconds, and another one has begun meanwhile."""
    found, _ = asked("a", "b", number=4)

    assert found.receive("b", {"met": 3, "well": False}) == []
