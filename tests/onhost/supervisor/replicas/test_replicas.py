"""Two agents' copies over loopback; what a rank would write is written here."""

import contextlib
import json
import os
import socket
import time
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.replicas import exchange, sending
from clusterwright.onhost.supervisor.replicas.replicas import Replicas
from clusterwright.onhost.supervisor.replicas.sending import NO_PEER
from clusterwright.onhost.supervisor.replicas.slots import REFUSED, SlotPart, Slots

pytestmark = pytest.mark.train
TOKEN = "a" * 64
DIGEST = "ab" * 32


class Host:
    """An agent with two ranks, without its ranks."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.reached, self.said = {}, []
        self.copies = Replicas(self.listener, TOKEN, 2, self.reached.__setitem__, self.said.append)
        self.place = ("127.0.0.1", self.copies.port)
        self.pages = [self.copies._holdings.local_slots[number] for number in range(2)]

    def rank_says(self, **words):
        """One line into the pipe, as a rank writes it."""
        path = self.copies.variables(0)["CLUSTERWRIGHT_COPY_WAKE"]
        Path(path).write_bytes(json.dumps(words).encode() + b"\n")

    def rank_copies(self, step, *, rank=0, slot=0, data=b"state", generation=1, whole=None):
        """A copy as a rank makes it; local rank and rank are the same here."""
        local_rank = rank
        part = SlotPart(step, generation, 2, rank, len(data), DIGEST)
        self.pages[local_rank].clear(slot)
        self.pages[local_rank].bytes(slot, len(data))[: len(data)] = data
        self.pages[local_rank].write(slot, part)
        self.rank_says(generation=generation, local_rank=local_rank, copy=part.key, whole=whole)
        return part.key

    def holds(self):
        """Generation, step, world size and rank of each part."""
        return [tuple(part) for part in self.copies.report()["parts"]]


@pytest.fixture
def hosts():
    """Two of them; each is the other's neighbor in generation 1."""
    pair = Host(), Host()
    pair[0].copies.begin(1, pair[1].place)
    pair[1].copies.begin(1, pair[0].place)
    yield pair
    for host in pair:
        host.copies.begin(99, None)
        host.copies.close()


def until(seen, limit_s=150):
    """What `seen` returns, once it is something."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        found = seen()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("not seen")


def fetched(place, key, token=TOKEN):
    """The bytes of a part, as a rank fetches them."""
    with contextlib.closing(exchange.connect(*place, token, 5)) as channel:
        channel.send({"get": key})
        answer = channel.receive()
        return channel.stream.read(answer["length"]) if "length" in answer else answer


def test_a_copy_reaches_the_neighbor_and_the_rank_is_told(hosts):
    """Word 6 of the rank's page names the step when the neighbor has it whole; the bytes are the same."""
    data = os.urandom(3_000_000)
    key = hosts[0].rank_copies(7, rank=1, data=data)
    until(lambda: hosts[0].reached.get(1) == 7)

    assert key in hosts[1].holds()
    assert fetched(hosts[1].place, key) == data


def test_the_copies_of_a_host_that_is_alone_are_enough(hosts):
    """Nobody is there to wait for."""
    hosts[0].copies.begin(2, None)
    hosts[0].rank_copies(7, generation=2)
    until(lambda: hosts[0].reached.get(0) == NO_PEER)

    assert hosts[1].holds() == []


def test_a_new_generation_forgets_what_had_reached(hosts):
    """Step 7 of the generation before says nothing about step 7 of this one."""
    hosts[0].rank_copies(7)
    until(lambda: hosts[0].reached.get(0) == 7)
    hosts[0].copies.begin(2, hosts[1].place)

    assert hosts[0].reached[0] == 0


def test_the_neighbor_keeps_the_newest_whole_set_and_what_is_being_made(hosts):
    """Of a hundred copies it has two."""
    for step in range(1, 100):
        hosts[0].rank_copies(step, slot=step % 2, whole=[1, step - 1] if step > 1 else None)
        until(lambda step=step: hosts[0].reached.get(0) == step)
        hosts[1].rank_copies(step, slot=step % 2, rank=1, whole=[1, step - 1] if step > 1 else None)
        until(lambda step=step: hosts[1].reached.get(1) == step)

    foreign = [part for part in hosts[1].holds() if part[3] == 0]
    assert foreign == [(1, 98, 2, 0), (1, 99, 2, 0)]


def test_a_dead_neighbor_stops_nothing_but_its_own_copies(hosts, monkeypatch):
    """Nothing reaches it, which is said once; after a while it is done without, until another host is the next."""
    hosts[1].copies.close()
    key = hosts[0].rank_copies(7)
    until(lambda: hosts[0].said)
    time.sleep(3 * sending.RETRY_S)
    assert len(hosts[0].said) == 1
    assert hosts[0].reached[0] == 0

    monkeypatch.setattr(sending, "UNREACHABLE_S", 0.5)  # ten seconds in earnest
    until(lambda: hosts[0].reached[0] == NO_PEER)
    assert "no replicas on another host" in hosts[0].said[1]
    third = Host()
    hosts[0].copies.begin(2, third.place)
    key = hosts[0].rank_copies(8, generation=2)
    until(lambda: hosts[0].reached.get(0) == 8)
    assert key in third.holds()
    third.copies.close()


def test_words_of_a_generation_that_is_over_change_nothing(hosts):
    """A copy of generation 1 that is announced when 2 has begun stays where it is."""
    hosts[0].copies.begin(2, hosts[1].place)
    hosts[0].rank_copies(7, generation=1)
    hosts[0].rank_copies(8, generation=2, slot=1)
    until(lambda: hosts[0].reached.get(0) == 8)

    assert (1, 7, 2, 0) not in hosts[1].holds()


def test_room_is_made_on_request(hosts):
    """Both slots have their memory before the first copy; the rank reads it on the first page."""
    hosts[0].rank_says(generation=1, local_rank=1, room=1 << 20)

    assert until(lambda: hosts[0].pages[1].capacity == 1 << 20)


def test_without_memory_there_are_no_copies_and_that_is_said(hosts):
    """More than the machine has."""
    hosts[0].rank_says(generation=1, local_rank=0, room=1 << 50)
    until(lambda: hosts[0].pages[0].capacity == REFUSED)

    assert "no in-memory checkpoints" in hosts[0].said[0]


def test_a_new_generation_may_ask_for_room_again(hosts):
    """There was none; fewer ranks, or another state, may fit."""
    hosts[0].rank_says(generation=1, local_rank=0, room=1 << 50)
    until(lambda: hosts[0].pages[0].capacity == REFUSED)
    hosts[0].copies.begin(2, None)

    assert hosts[0].pages[0].capacity == 0


def test_a_neighbor_without_memory_is_not_waited_for(hosts, monkeypatch):
    """It says so, and the copies stay on their own host."""
    # no machine can be filled for a test; what is read from the kernel is what changes
    monkeypatch.setattr("clusterwright.onhost.supervisor.host.available.available_bytes", lambda: 3)
    hosts[0].rank_copies(7)
    until(lambda: hosts[0].reached.get(0) == NO_PEER)

    assert "refused a replica" in hosts[0].said[0]
    assert hosts[1].holds() == []


def test_a_line_that_is_not_ours_is_said_and_passed_over(hosts):
    """The next one counts."""
    Path(hosts[0].copies.variables(0)["CLUSTERWRIGHT_COPY_WAKE"]).write_bytes(b"{}\nhello\n")
    hosts[0].rank_copies(7)
    until(lambda: hosts[0].reached.get(0) == 7)

    assert len(hosts[0].said) == 2


def test_a_stranger_gets_nothing(hosts):
    """Nor does a holder that does not know the token get a part."""
    key = hosts[0].rank_copies(7)

    with pytest.raises(wire.Broken):
        fetched(hosts[0].place, key, token="b" * 64)


def test_a_part_that_is_not_here_is_missing(hosts):
    """The answer is a word, not an end."""
    assert fetched(hosts[0].place, (1, 5, 2, 0)) == {"missing": [1, 5, 2, 0]}


def test_half_a_part_is_none(hosts):
    """A host that dies while it sends leaves nothing that counts."""
    channel = exchange.connect(*hosts[1].place, TOKEN, 5)
    part = SlotPart(7, 1, 2, 0, 1_000_000, DIGEST)
    channel.send({"put": vars(part)})
    assert channel.receive() == {"take": True}
    channel.connection.sendall(b"x" * 500_000)
    channel.close()
    hosts[0].rank_copies(8)
    until(lambda: hosts[0].reached.get(0) == 8)

    assert hosts[1].holds() == [(1, 8, 2, 0)]


def test_ranks_are_told_the_nearest_place_of_each_part(hosts):
    """A path for what is held here, an address for what is not."""
    hosts[0].rank_copies(7)
    until(lambda: hosts[0].reached.get(0) == 7)
    chosen = {"generation": 1, "step": 7, "world_size": 2, "places": [[hosts[1].place], [hosts[1].place]]}

    told = hosts[0].copies.memory(chosen)
    address, port = hosts[1].place
    assert told["parts"] == [
        {"rank": 0, "path": hosts[0].pages[0].path},
        {"rank": 1, "address": address, "port": port},
    ]
    assert (told["generation"], told["step"], told["world_size"], told["token"]) == (1, 7, 2, TOKEN)


def test_what_is_too_long_for_a_variable_is_in_a_file(hosts):
    """Two thousand ranks; a process with a variable of more than 128 KiB could not be started."""
    chosen = {"generation": 1, "step": 7, "world_size": 2000, "places": [[hosts[1].place]] * 2000}
    told = hosts[0].copies.start({"start": 2, "next": {}, "memory": chosen}, "a")["CLUSTERWRIGHT_MEMORY"]
    assert json.loads(Path(told).read_text()) == hosts[0].copies.memory(chosen)

    shorter = {**chosen, "world_size": 1900, "places": chosen["places"][:1900]}
    told = hosts[0].copies.start({"start": 3, "next": {}, "memory": shorter}, "a")["CLUSTERWRIGHT_MEMORY"]
    assert json.loads(Path(told).read_text()) == hosts[0].copies.memory(shorter)


def test_memory_stays_when_the_path_is_opened_and_the_agent_lets_go():
    """A reader on the same host is not cut off."""
    one = Slots("test")
    one.bytes(0, 5)[:] = b"state"
    with Path(one.path).open("rb") as file:
        one.close()
        file.seek(1 << 40)
        assert file.read(5) == b"state"
