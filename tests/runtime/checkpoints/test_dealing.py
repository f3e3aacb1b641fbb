"""Each piece of a state is written by one of the ranks that hold it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime.checkpoints.dealing import Dealer, owned

pytestmark = pytest.mark.train
MIB = 1 << 20
NOTHING = bytes(8)


class Others:
    """A group of which this is rank 0, and the others say what the test has them say."""

    rank, world_size = 0, 2

    def __init__(self, *others):
        self.others, self.asked = list(others), 0

    def gather(self, value):
        """Ours, and what the other one says."""
        self.asked += 1
        return [value, self.others.pop(0) if self.others else value]


def owners(sizes, boxes):
    """For each tensor, the ranks that write a piece of it."""
    hands = [owned(rank, sizes, boxes) for rank in range(len(boxes[0]))]
    return [[rank for rank, hand in enumerate(hands) if number in hand] for number in range(len(sizes))]


def test_what_all_hold_is_dealt_evenly_and_small_tensors_stay_with_rank_0():
    """Each once; 64 KiB is large."""
    found = owners([MIB // 16] * 7 + [9], [[b"all     "] * 3] * 8)

    assert all(len(ranks) == 1 for ranks in found)
    assert found[7] == [0]
    assert sorted(found[:7].count([rank]) for rank in range(3)) == [2, 2, 3]


def test_each_rank_writes_its_piece_of_a_sharded_tensor():
    """Whether it is large or small."""
    assert owners([8 * MIB, 64], [[b"piece  0", b"piece  1"]] * 2) == [[0, 1], [0, 1]]


def test_pieces_that_several_ranks_hold_are_dealt_out():
    """Two pieces, each on two ranks, of two tensors: every rank writes one piece."""
    found = owners([8 * MIB] * 2, [[b"piece  0", b"piece  1"] * 2] * 2)

    assert sorted(rank for ranks in found for rank in ranks) == [0, 1, 2, 3]


def test_a_rank_that_holds_nothing_writes_nothing():
    """Three rows over four ranks."""
    assert owners([8 * MIB], [[b"row    0", b"row    1", b"row    2", NOTHING]]) == [[0, 1, 2]]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 6)), min_size=1, max_size=12))
def test_each_piece_is_written_once_by_someone_who_holds_it(tensors):
    """For any sizes, and any number of pieces over six ranks."""
    sizes = [size * MIB // 2 for size, _ in tensors]
    boxes = [[f"{rank % pieces:8}".encode() for rank in range(6)] for _, pieces in tensors]

    for number, ranks in enumerate(owners(sizes, boxes)):
        assert sorted(boxes[number][rank] for rank in ranks) == sorted(set(boxes[number]))


def test_the_ranks_meet_once_for_all_saves_of_a_state():
    """And again when it has got another tensor."""
    group = Others()
    dealer = Dealer(group)
    state = {"model": {"w": torch.ones(3)}}

    assert [each.name for each in dealer.chunks(state, {})] == ["model/w", "rank", "tree"]
    dealer.chunks(state, {})
    assert group.asked == 1
    dealer.chunks({**state, "more": {"x": torch.ones(1)}}, {})
    assert group.asked == 2


def test_what_may_differ_between_ranks_is_rank_0s_whatever_its_size():
    """Buffers: one rank's and another's together would be a state that no rank has had."""
    state = {"model": {f"{kind}{n}": torch.ones(MIB) for kind in ("weight", "buffer") for n in range(3)}}
    dealer = Dealer(Others(), lambda: [f"model/buffer{n}" for n in range(3)])

    names = [each.name for each in dealer.chunks(state, {})]
    assert [name for name in names if "buffer" in name] == [f"model/buffer{n}" for n in range(3)]
    assert 0 < len([name for name in names if "weight" in name]) < 3


def test_ranks_with_other_tensors_are_told_apart_by_name():
    """One of them would be lost; pipeline stages that track plain tensors end here."""
    dealer = Dealer(Others((b"another tag", b""), ["model/v (torch.float32, [4])"]))

    with pytest.raises(
        ValueError, match=r"only rank 0 has model/w \(torch.float32, \[3\]\); only rank 1 has model/v"
    ):
        dealer.chunks({"model": {"w": torch.ones(3)}}, {})


def test_a_tensor_that_no_rank_holds_is_refused():
    """On the device meta there are no values; one rank at least must have them, as a pipeline's stages do."""
    dealer = Dealer(Others())

    with pytest.raises(TypeError, match=r"no rank holds model/w \(torch.float32, \[3\]\)"):
        dealer.chunks({"model": {"w": torch.empty(3, device="meta")}}, {})
