"""Sharded state: saved by pieces, loaded onto other layouts and other numbers of ranks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime.checkpoints import disk, manifest, shards
from clusterwright.runtime.checkpoints.shards import Box

pytestmark = pytest.mark.train
BOXES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=2, max_size=2).map(
    lambda sides: Box(tuple(begin for begin, _ in sides), tuple(size for _, size in sides))
)


@given(BOXES, BOXES)
def test_an_overlap_is_what_both_boxes_hold(one, other):
    """As counted cell by cell; and its slices find it in either."""
    grid = torch.arange(144).view(12, 12)

    def cells(box):
        return grid[
            tuple(slice(begin, begin + size) for begin, size in zip(box.offset, box.shape, strict=True))
        ]

    common = one.overlap(other)
    both = set(cells(one).flatten().tolist()) & set(cells(other).flatten().tolist())
    assert both == set(cells(common).flatten().tolist() if common else ())
    if common:
        assert torch.equal(cells(one)[common.slices_in(one)], cells(other)[common.slices_in(other)])


def test_a_plain_tensor_is_one_piece():
    """The box that it is."""
    assert shards.full_box((3, 4)) == Box((0, 0), (3, 4))
    assert shards.chunk("x", torch.ones(3)).full_shape is None


def saved(train, layout, ranks, width=16):
    """A checkpoint of that layout; the elements of each tensor that lie in its parts."""
    run = train(script="sharder", ranks=ranks, SHARD_ACT="save", SHARD_LAYOUT=layout, SHARD_WIDTH=width)
    assert run.codes == [0] * ranks, run.log
    folder = run.folder / "checkpoints" / "step-00000001"
    written, shapes = {}, {}
    for part in manifest.read(folder).parts:
        with disk.reader(folder, part) as reader:
            for entry in reader.entries:
                written[entry.name] = written.get(entry.name, 0) + torch.Size(entry.shape).numel()
                shapes[entry.name] = torch.Size(entry.full_shape).numel()
    return {name: (written[name], shapes[name]) for name in written if name not in ("rank", "tree")}


@pytest.mark.parametrize(
    ("layout", "ranks", "width", "then"),
    [  # tensor parallelism computes with even shards only; with 13 all other shards are uneven
        ("fsdp", 4, 13, [("fsdp", 2), ("plain", 1), ("hsdp", 4)]),
        ("tp", 2, 16, [("fsdp", 4), ("tp", 4), ("plain", 2)]),
        ("hsdp", 4, 13, [("fsdp", 2)]),
        ("both", 4, 16, [("both", 4), ("fsdp", 2), ("plain", 1)]),
        ("copies", 4, 16, [("tp", 2)]),
        ("plain", 2, 16, [("fsdp", 4), ("both", 4)]),
    ],
)
def test_a_state_is_loaded_onto_any_other_layout(train, layout, ranks, width, then):
    """Each element was written once, by whichever rank; and each comes back to its place, the moments' too."""
    for name, (written, there) in saved(train, layout, ranks, width).items():
        assert written == there, name

    for other, many in then:
        loaded = train(script="sharder", ranks=many, SHARD_ACT="load", SHARD_LAYOUT=other, SHARD_WIDTH=width)
        assert loaded.codes == [0] * many, f"{other} {many}: {loaded.log}"


def test_a_checkpoint_of_another_architecture_is_refused_by_name(train):
    """Both shapes are said, on all ranks, and no older checkpoint is tried."""
    saved(train, "fsdp", 2)

    other = train(script="sharder", ranks=2, SHARD_ACT="load", SHARD_LAYOUT="fsdp", SHARD_WIDTH="12")
    assert other.codes == [1, 1]
    assert "step 1 was saved from a different architecture" in other.log
    assert "model/0.weight: saved [16, 8], now [12, 8]" in other.log
