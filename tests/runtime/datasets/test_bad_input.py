"""What a training must not begin with: each is refused by its name."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from clusterwright.runtime import Sampler
from clusterwright.runtime.datasets import (
    BadSampleError,
    Images,
    Jsonl,
    Parquet,
    Tar,
    Tolerant,
    Windows,
)


@pytest.mark.parametrize(("reader", "name"), [(Jsonl, "b.jsonl"), (Tar, "b.tar")])
def test_a_shard_of_no_bytes_is_named(tmp_path, reader, name):
    """A download that failed: the good one beside it does not hide it."""
    good = {"b.jsonl": b"1\n", "b.tar": b""}[name]
    (tmp_path / f"a{name}").write_bytes(good or b"")
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ValueError, match=r"(b\.jsonl has no samples|b\.tar)"):
        reader(tmp_path)


def test_parquet_and_windows_of_nothing_are_named(tmp_path):
    """A file of no bytes, a table of no rows, a text too short for one window."""
    (tmp_path / "a.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"a\.parquet: not a readable Parquet file"):
        Parquet(tmp_path)
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="no rows"):
        Parquet(tmp_path)
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(ValueError, match="long enough for a window of 9"):
        Windows(tmp_path, context=8)


def test_a_broken_image_and_a_broken_line_are_named_and_counted(tmp_path):
    """Refused by themselves, passed over where that is wanted, and counted there."""
    (tmp_path / "red").mkdir()
    for number in range(4):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / "red" / f"{number}.png")
    broken = tmp_path / "red" / "2.png"
    broken.write_bytes(broken.read_bytes()[:40])
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(BadSampleError, match=r"2\.png: sample 2"):
        Images(tmp_path)[2]
    with pytest.raises(BadSampleError, match=r"x\.jsonl: sample 1: not JSON"):
        Jsonl(tmp_path)[1]
    told = []
    passed = Tolerant(Images(tmp_path), report=told.append)

    assert [int(passed[number][0].max()) for number in (0, 1, 2, 3, 2)] == [0, 1, 3, 3, 3]
    assert len(told) == len(passed.bad) == 1


@pytest.mark.parametrize("kind", [Jsonl, Parquet])
def test_a_dataset_that_changed_is_no_dataset_to_go_on_with(tmp_path, kind):
    """One row more, and the sampler of the checkpoint is refused."""

    def made(rows):
        for old in tmp_path.iterdir():
            old.unlink()
        if kind is Jsonl:
            (tmp_path / "a.jsonl").write_text("".join(f"{row}\n" for row in range(rows)))
        else:
            pq.write_table(pa.table({"x": list(range(rows))}), tmp_path / "a.parquet")
        return kind(tmp_path)

    position = Sampler.over(made(8), batch=2).state_dict()
    Sampler.over(made(8), batch=2).load_state_dict(position)
    with pytest.raises(ValueError, match="the dataset has changed since the checkpoint"):
        Sampler.over(made(9), batch=2).load_state_dict(position)
