"""One rank's part: readable by anyone, and never believed when it lies."""

import hashlib
import json

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.checkpoints import digest, disk, memory, part
from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.checkpoints.source import Damaged, FileSource, MemorySource

pytestmark = pytest.mark.train


def made(*chunks):
    """A part in memory, and what is to be kept of it elsewhere."""
    plan = part.layout(chunks)
    data = torch.empty(plan.bytes, dtype=torch.uint8)
    part.stage(plan, chunks, data)
    return data, part.seal(plan, data)


def read(data, said):
    """Name and tensor of each chunk."""
    reader = part.Reader(MemorySource("part", memory.view(data)), said)
    return {entry.name: reader.read(entry) for entry in reader.entries}


@pytest.mark.parametrize("dtype", part.DTYPES, ids=str)
def test_every_dtype_comes_back_bit_for_bit(dtype):
    """Scalars, nothing at all, transposed views, and views that begin at an odd place."""
    base = torch.arange(60).to(dtype)
    tensors = {
        "scalar": base[5], "none": base[:0], "turned": base.view(6, 10).t(), "odd": base[7:8], "rest": base[3:],
        "wide": torch.arange(7.0, dtype=torch.float64),
    }  # fmt: skip

    found = read(*made(*(Chunk(name, tensor) for name, tensor in tensors.items())))
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert found[name].shape == tensor.shape
        same = found[name].flatten().view(torch.uint8) == tensor.contiguous().clone().flatten().view(
            torch.uint8
        )
        assert bool(same.all())


def test_it_is_a_safetensors_file():
    """Length, header, bytes without a gap, as the format's own page says, so that it outlives us."""
    x, y = torch.tensor([[1.0, 2.0]]), torch.tensor([3], dtype=torch.int16)
    data = bytes(memory.view(made(Chunk("x", x), Chunk("y", y))[0]))

    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert all(isinstance(text, str) for text in header.pop("__metadata__").values())
    assert header == {
        "sums": {"dtype": "U8", "shape": [32], "data_offsets": [0, 32]},
        "x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [32, 40]},
        "y": {"dtype": "I16", "shape": [1], "data_offsets": [40, 42]},
    }
    assert (8 + length) % 64 == 0
    assert data[8 + length + 32 :] == bytes.fromhex("0000803f00000040") + b"\x03\x00"


def test_memory_and_disk_hold_the_same_bytes(tmp_path):
    """So a copy in memory can become a file, and a file a copy."""
    chunks = [Chunk("large", torch.randn(700_001)), Chunk("small", torch.ones(3))]
    plan = part.layout(chunks)
    staged = torch.empty(plan.bytes, dtype=torch.uint8)
    part.stage(plan, chunks, staged)

    said = disk.write(tmp_path / "part", plan, staged)
    data, sealed = made(*chunks)
    assert (tmp_path / "part").read_bytes() == bytes(memory.view(data))
    assert (said.bytes, said.digest) == (sealed.bytes, sealed.digest)


def test_a_piece_says_where_it_belongs():
    """Its tensor's name and shape, and where in it the piece begins."""
    chunk = Chunk("weight", torch.arange(6.0).view(2, 3), (8, 3), (4, 0))
    data, said = made(chunk, Chunk("weight", torch.ones(1, 3), (8, 3), (7, 0)))

    entries = part.Reader(MemorySource("part", memory.view(data)), said).entries
    assert [(e.name, e.shape, e.full_shape, e.offset) for e in entries] == [
        ("weight", (2, 3), (8, 3), (4, 0)),
        ("weight", (1, 3), (8, 3), (7, 0)),
    ]


def test_some_bytes_of_a_tensor_are_read_without_the_rest(tmp_path):
    """Damage in a block that nobody asked for is not met; damage in the others is."""
    values = torch.arange(1_000_000, dtype=torch.int32)
    data, said = made(Chunk("x", values))
    (tmp_path / "part").write_bytes(memory.view(data))
    with (tmp_path / "part").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    source = FileSource(tmp_path / "part")
    reader = part.Reader(source, said)
    (entry,) = reader.entries

    assert torch.equal(
        reader.read_bytes(entry, 1_500_000, 2_500_000).view(torch.int32), values[375_000:625_000]
    )
    with pytest.raises(Damaged, match="other bytes of x"):
        reader.read_bytes(entry, 3_900_000, 3_999_000)
    source.close()


def test_two_tensors_of_one_name_are_refused():
    """One of them would be lost."""
    with pytest.raises(ValueError, match="two tensors have the name x"):
        part.layout([Chunk("x", torch.ones(1)), Chunk("x", torch.ones(1))])


@pytest.mark.parametrize(
    "header",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"x": 1}',
        b"1",
        b'{"dtype": "F32", "shape": [1], "data_offsets": [16, 21]}',
        b'{"dtype": "F33", "shape": [1], "data_offsets": [16, 20]}',
        b'{"dtype": "F32", "shape": [-1, -1], "data_offsets": [16, 20]}',
        b'{"dtype": "U8", "shape": [9223372036854775807], "data_offsets": [16, 9223372036854775823]}',
    ],
)
def test_a_header_that_lies_is_damage_even_with_a_right_sum(header):
    """No crash, no endless memory, no tensor."""
    if header not in (b"not json", b"[]", b"{}", b'{"x": 1}'):
        header = b'{"__metadata__": {"boxes": "{}"}, "sums": {"data_offsets": [0, 16]}, "x": ' + header + b"}"
    front = len(header).to_bytes(8, "little") + header + bytes(16)
    data = bytearray(front + b"1234")

    with pytest.raises(Damaged):
        part.Reader(
            MemorySource("part", memoryview(data)),
            part.Part("part", len(data), hashlib.sha256(front).hexdigest()),
        )


def test_blocks_are_those_of_the_digest():
    """A tensor of a block and a byte has two sums."""
    data, said = made(Chunk("x", torch.zeros(digest.BLOCK_BYTES + 1, dtype=torch.uint8)))
    (entry,) = part.Reader(MemorySource("part", memory.view(data)), said).entries

    assert entry.start - (8 + int.from_bytes(bytes(data[:8]), "little")) == 2 * digest.SUM_BYTES
