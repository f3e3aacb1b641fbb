from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.replicas import slots
from clusterwright.onhost.supervisor.replicas.slots import SlotPart, Slots

pytestmark = pytest.mark.train
PART = SlotPart(step=90, generation=2, world_size=4, rank=3, length=5000, digest="ab" * 32)


@pytest.fixture
def memory():
    """A rank's memory."""
    one = Slots("test")
    yield one
    one.close()


def test_a_new_memory_holds_nothing(memory):
    """Neither slot has a mark."""
    assert list(memory.parts()) == []


def test_what_is_written_is_read_through_the_path_too(memory):
    """A process that knows the path sees the same bytes."""
    memory.bytes(1, PART.length)[:] = b"x" * PART.length
    memory.write(1, PART)

    ((slot, mark, part),) = memory.parts()
    assert (slot, part) == (1, PART)
    assert mark > 0
    with Path(memory.path).open("rb") as file:
        file.seek(slots.offset(1))
        assert file.read(PART.length) == b"x" * PART.length


def test_a_cleared_slot_does_not_count(memory):
    """The mark goes first, whatever becomes of the bytes."""
    memory.write(0, PART)
    memory.clear(0)

    assert list(memory.parts()) == []


def test_each_writing_has_a_mark_of_its_own(memory):
    """The same part again is seen to be another writing."""
    memory.write(0, PART)
    first = memory.read(0)[0]
    memory.write(0, PART)

    assert memory.read(0)[0] != first


def test_granted_room_is_taken_at_once(memory):
    """Both slots have their pages before anybody writes."""
    memory.grant(1 << 20)

    assert memory.capacity == 1 << 20
    assert memory.allocated_bytes() >= 2 << 20


def test_a_closed_memory_is_given_back():
    """Its descriptor is gone."""
    one = Slots("test")
    path = one.path
    one.close()

    assert not Path(path).exists()
