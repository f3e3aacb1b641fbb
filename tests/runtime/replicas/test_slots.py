import pytest

from clusterwright.onhost.supervisor.replicas import slots as agents
from clusterwright.runtime.replicas import slots
from clusterwright.runtime.replicas.slots import Slots, Stored

pytestmark = pytest.mark.train
PART = Stored(slot=1, step=90, generation=2, world_size=4, rank=3, bytes=5000, digest="ab" * 32)


@pytest.fixture
def both():
    """One memory, as the agent and as a rank sees it."""
    agent = agents.Slots("test")
    rank = Slots(agent.path)
    yield agent, rank
    rank.close()
    agent.close()


def test_rank_and_agent_agree_where_everything_lies():
    """Neither imports the other."""
    offsets = ("FORMAT_OFFSET", "PAGE", "HEADER_EVERY", "CAPACITY_OFFSET", "SLOT_STRIDE")
    for name in ("FORMAT", "SLOTS", "REFUSED", *offsets):
        assert getattr(slots, name) == getattr(agents, name)
    assert slots.HEADER.format == agents.HEADER.format


def test_the_agent_reads_what_the_rank_writes(both):
    """Header and bytes."""
    agent, rank = both
    agent.grant(1 << 16)
    rank.bytes(1, PART.bytes).fill_(7)
    rank.write(PART)

    ((slot, _, part),) = agent.parts()
    assert slot == 1
    assert part == agents.SlotPart(90, 2, 4, 3, 5000, "ab" * 32)
    assert bytes(agent.bytes(1, 5000)[:5000]) == b"\7" * 5000


def test_the_rank_reads_what_the_agent_keeps(both):
    """A neighbor's part lies in the first slot."""
    agent, rank = both
    agent.bytes(0, 100)[:100] = b"x" * 100
    agent.write(0, agents.SlotPart(90, 2, 4, 3, 100, "ab" * 32))

    (found,) = rank.stored()
    assert found == Stored(0, 90, 2, 4, 3, 100, "ab" * 32)
    assert bytes(rank.bytes(0, 100).tolist()) == b"x" * 100


def test_the_rank_sees_room_and_refusal(both):
    """Nothing before the agent has answered."""
    agent, rank = both
    assert rank.capacity == 0
    agent.grant(4096)
    assert rank.capacity == 4096
    agent.refuse()
    assert rank.capacity == slots.REFUSED


def test_a_cleared_slot_holds_nothing_for_both(both):
    """Before its bytes change."""
    agent, rank = both
    rank.write(PART)
    rank.clear(1)

    assert rank.stored() == []
    assert list(agent.parts()) == []


def test_memory_of_another_layout_is_refused(both, monkeypatch):
    """A rank copies nothing into it and reads nothing from it."""
    agent, _ = both
    monkeypatch.setattr(slots, "FORMAT", slots.FORMAT + 1)  # no older agent is at hand

    with pytest.raises(OSError, match="has format 1; this version reads 2"):
        Slots(agent.path)
