import json

import pytest

from clusterwright.onhost.supervisor.replicas.slots import SlotPart, Slots
from clusterwright.runtime.checkpoints.source import Damaged, OtherFormat
from clusterwright.runtime.replicas.remembered import VARIABLE, read_environment

pytestmark = pytest.mark.train


def words(*parts, world_size=1):
    """What a launcher says."""
    said = {
        "format": 1,
        "generation": 1,
        "step": 7,
        "world_size": world_size,
        "token": "a" * 64,
        "parts": list(parts),
    }
    return json.dumps(said)


def test_nothing_is_remembered_without_a_word():
    """The first generation, or another launcher."""
    assert read_environment({}) is None


def test_it_is_said_once_and_not_to_children():
    """The token is in it."""
    environ = {VARIABLE: words({"rank": 0, "path": "/nowhere"})}
    found = read_environment(environ)

    assert (found.generation, found.step, found.world_size) == (1, 7, 1)
    assert environ == {}


def test_places_are_in_the_order_of_ranks():
    """However they were said."""
    said = words({"rank": 1, "path": "/b"}, {"rank": 0, "path": "/a"}, world_size=2)

    assert [place["path"] for place in read_environment({VARIABLE: said}).places] == ["/a", "/b"]


def test_a_long_word_is_in_a_file(tmp_path):
    """The variable has its path."""
    path = tmp_path / "memory"
    path.write_text(words({"rank": 0, "path": "/a"}))

    assert read_environment({VARIABLE: str(path)}).places[0]["path"] == "/a"


def test_a_memory_that_holds_another_step_has_not_the_part():
    """It was overwritten since."""
    slots = Slots("test")
    slots.write(0, SlotPart(8, 1, 1, 0, 100, "ab" * 32))
    found = read_environment({VARIABLE: words({"rank": 0, "path": slots.path})})

    with pytest.raises(Damaged, match="is not in"), found.reader(0):
        pass
    slots.close()


def test_a_part_whose_sums_differ_is_damaged():
    """Here it has no header at all."""
    slots = Slots("test")
    slots.bytes(0, 100)
    slots.write(0, SlotPart(7, 1, 1, 0, 100, "ab" * 32))
    found = read_environment({VARIABLE: words({"rank": 0, "path": slots.path})})

    with pytest.raises(Damaged), found.reader(0):
        pass
    slots.close()


@pytest.mark.parametrize("other", [None, 0, 2, "1"])
def test_memory_of_another_format_is_not_read_as_this_one(other):
    """An agent that runs since before an update serves newer ranks."""
    document = json.dumps({**json.loads(words({"rank": 0, "path": "/a"})), "format": other})

    with pytest.raises(OtherFormat, match="this version reads 1"):
        read_environment({VARIABLE: document})
