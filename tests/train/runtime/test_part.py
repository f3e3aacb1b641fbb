"""One rank's file: readable by anyone, and never believed when it lies."""

import json

import pytest

torch = pytest.importorskip("torch")

from clusterwright.train.runtime import memory, part  # noqa: E402 (torch may be missing)
from clusterwright.train.runtime.digest import Digest  # noqa: E402 (torch may be missing)

pytestmark = pytest.mark.train


@pytest.mark.parametrize("dtype", part.DTYPES, ids=str)
def test_every_dtype_comes_back_bit_for_bit(tmp_path, dtype):
    """Scalars, nothing at all, transposed views, and views that begin at an odd place."""
    base = torch.arange(60).to(dtype)
    tensors = {
        "scalar": base[5],
        "none": base[:0],
        "turned": base.view(6, 10).t(),
        "odd": base[7:8],
        "rest": base[3:],
    }

    written = part.write(tmp_path / "part", tensors)
    found = part.read(tmp_path, written)
    assert list(found) == list(tensors)
    for name, tensor in tensors.items():
        assert found[name].dtype == dtype
        assert found[name].shape == tensor.shape
        same = found[name].flatten().view(torch.uint8) == tensor.contiguous().clone().flatten().view(
            torch.uint8
        )
        assert bool(same.all())


def test_it_is_a_safetensors_file(tmp_path):
    """Length, header, bytes, as the format's own page says, so that it outlives us."""
    part.write(
        tmp_path / "part", {"x": torch.tensor([[1.0, 2.0]]), "y": torch.tensor([3], dtype=torch.int16)}
    )
    data = (tmp_path / "part").read_bytes()

    length = int.from_bytes(data[:8], "little")
    assert json.loads(data[8 : 8 + length]) == {
        "x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
        "y": {"dtype": "I16", "shape": [1], "data_offsets": [8, 10]},
    }
    assert (8 + length) % 8 == 0
    assert data[8 + length :] == bytes.fromhex("0000803f00000040") + b"\x03\x00"


@pytest.mark.parametrize(
    "header",
    [
        b"not json", b"[]", b"{}", b'{"x": 1}', b'{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 9]}}',
        b'{"x": {"dtype": "F33", "shape": [1], "data_offsets": [0, 4]}}',
        b'{"x": {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]}}',
        b'{"x": {"dtype": "U8", "shape": [9223372036854775807], "data_offsets": [0, 9223372036854775807]}}',
    ],
)  # fmt: skip
def test_a_header_that_lies_is_damage_even_with_a_right_sum(tmp_path, header):
    """No crash, no endless memory, no tensor."""
    data = len(header).to_bytes(8, "little") + header + b"1234"
    (tmp_path / "part").write_bytes(data)
    said = Digest()
    said.update(memory.tensor(data[: 8 + len(header)]))
    said.update(memory.tensor(b"1234"))

    with pytest.raises(part.Damaged):
        part.read(tmp_path, part.Part("part", len(data), said.hexdigest()))
