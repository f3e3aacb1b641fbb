import pytest

from clusterwright.onhost.supervisor.replicas.holdings import Holdings
from clusterwright.onhost.supervisor.replicas.slots import SlotPart

pytestmark = pytest.mark.train


def part(generation, step, rank, world_size=4, length=100):
    """A part of so many bytes."""
    return SlotPart(step, generation, world_size, rank, length, "")


@pytest.fixture
def held():
    """A host with two ranks of its own."""
    return Holdings(2)


def take(held, *parts):
    """These have come from another host."""
    for each in parts:
        slots = held.allocate()
        slots.bytes(0, each.length)[:] = b"y" * each.length
        held.store(slots, each)


def reported(held):
    """Generation and step, and rank, of all that counts."""
    return [(generation, step, rank) for generation, step, _, rank in held.report()["parts"]]


def test_own_and_foreign_parts_are_reported(held):
    """Those of both local ranks, and those of the host before."""
    held.local_slots[0].write(0, part(1, 90, 0))
    held.local_slots[1].write(1, part(1, 91, 1))
    take(held, part(1, 90, 2))

    assert reported(held) == [(1, 90, 0), (1, 90, 2), (1, 91, 1)]


def test_what_was_made_beyond_the_resumed_step_is_void(held):
    """The next generation left that history, own and foreign parts alike; its own later ones count."""
    held.local_slots[0].write(0, part(1, 90, 0))
    held.local_slots[0].write(1, part(1, 95, 0))
    take(held, part(1, 90, 2), part(1, 95, 2))
    held.resumed(2, 90)
    take(held, part(2, 95, 2))

    assert reported(held) == [(1, 90, 0), (1, 90, 2), (2, 95, 2)]
    assert held.report()["fence"] == [2, 90]


def test_an_older_generations_late_word_moves_no_fence(held):
    """A rank of a generation that was given up says late where it had resumed."""
    held.resumed(3, 90)
    held.resumed(2, 10)

    assert held.report()["fence"] == [3, 90]


def test_older_parts_go_when_new_ones_are_made_but_for_the_whole_set(held):
    """Step 90 is the newest that is whole; 80 is of no use, 95 is being made, of which 94 was not finished."""
    take(held, part(1, 80, 2), part(1, 90, 2), part(1, 94, 2))
    held.supersede((2, 95), (1, 90))

    assert reported(held) == [(1, 90, 2)]


def test_without_a_whole_set_all_older_parts_go(held):
    """The generation resumed from disk."""
    take(held, part(1, 80, 2), part(1, 90, 2))
    held.supersede((2, 91), None)

    assert reported(held) == []


def test_memory_of_parts_that_went_is_used_again(held):
    """A hundred copies take the memory of three."""
    for step in range(100):
        held.supersede((1, step), (1, step - 1))
        take(held, part(1, step, 2, length=100_000))

    assert held.allocated_bytes() < 4 * 110_000


def test_a_part_is_lent_with_a_file_of_its_own(held):
    """It can be read to its end although the host lets go of it meanwhile; that it changed is seen."""
    take(held, part(1, 90, 2))
    lent = held.lend((1, 90, 4, 2))
    assert lent.unchanged()
    held.supersede((1, 91), None)

    lent.file.seek(lent.start)
    assert lent.file.read(100) == b"y" * 100
    assert not lent.unchanged()
    assert held.lend((1, 90, 4, 2)) is None
    lent.file.close()


def test_the_path_of_a_part_leads_to_its_memory(held):
    """Only for what is held here."""
    held.local_slots[1].write(0, part(1, 90, 1))

    assert held.path((1, 90, 4, 1)) == held.local_slots[1].path
    assert held.path((1, 90, 4, 3)) == ""
