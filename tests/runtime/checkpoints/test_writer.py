"""A rank's writer on the memory of a real agent."""

import socket
import time

import pytest
import torch

from clusterwright.onhost.supervisor.replicas.replicas import Replicas as Agent
from clusterwright.runtime.checkpoints.part import Chunk, Part, Reader
from clusterwright.runtime.checkpoints.source import MemorySource
from clusterwright.runtime.checkpoints.writer import SaveMoment, Writer
from clusterwright.runtime.group import Group

pytestmark = pytest.mark.train


@pytest.fixture
def agent():
    """Of a host that is alone."""
    one = Agent(socket.create_server(("127.0.0.1", 0)), "a" * 64, 1, lambda *_: None, lambda _: None)
    one.begin(2, None)
    yield one
    one.close()


@pytest.fixture
def writer(agent):
    """Rank 0 of one, in generation 2, with room for a part."""
    one = Writer(Group(0, 0, 1, torch.device("cpu"), None), 2, agent.variables(0))
    one.request_capacity(chunks(0))
    until(one.ready)
    yield one
    one.close()


def chunks(number, size=1000):
    """A state."""
    return [Chunk("model/weight", torch.full((size,), float(number)))]


def until(seen):
    """Until it is so."""
    end = time.monotonic() + 150
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.01)


def copy(writer, step, whole=None):
    """A copy that is complete."""
    assert writer.copy(step, chunks(step), whole) > 4000
    until(writer.ready)


def held(agent):
    """Generation and step of what is there."""
    return [(generation, step) for generation, step, _, _ in agent.report()["parts"]]


def test_a_copy_is_a_part_that_can_be_read(writer, agent):
    """Sums and header are there when the slot is marked."""
    copy(writer, 7)
    own = agent._holdings.local_slots[0]
    ((slot, _, part),) = own.parts()

    data = memoryview(bytes(own.bytes(slot, part.length)[: part.length]))
    reader = Reader(MemorySource("part", data), Part("part", part.length, part.digest))
    assert torch.equal(reader.read(reader.entries[0]), chunks(7)[0].data)


def test_the_whole_set_is_never_overwritten(writer, agent):
    """Steps 8 and 9 share the other slot as long as 7 is the newest that is whole."""
    copy(writer, 7)
    copy(writer, 8, SaveMoment(2, 7))
    copy(writer, 9, SaveMoment(2, 7))
    assert held(agent) == [(2, 7), (2, 9)]

    copy(writer, 10, SaveMoment(2, 9))
    assert held(agent) == [(2, 9), (2, 10)]


def test_the_set_that_was_read_stays_until_there_is_a_newer(writer, agent):
    """What generation 1 left behind, also when it was another rank's part."""
    copy(writer, 7)
    slot, _, part = next(agent._holdings.local_slots[0].parts())
    old = type(part)(7, 1, 3, 2, part.length, part.digest)
    agent._holdings.local_slots[0].write(slot, old)
    copy(writer, 8, SaveMoment(1, 7))
    copy(writer, 9, SaveMoment(1, 7))

    assert held(agent) == [(1, 7), (2, 9)]


def test_a_state_that_has_grown_gets_more_room_first(writer, agent):
    """It is not copied this time, and what was there stays."""
    copy(writer, 7)
    grown = chunks(8, 1_000_000)
    assert writer.copy(8, grown, None) == 0
    assert held(agent) == [(2, 7)]
    until(writer.ready)

    assert writer.copy(9, grown, SaveMoment(2, 7)) > 4_000_000
    until(writer.ready)
    assert held(agent) == [(2, 7), (2, 9)]
