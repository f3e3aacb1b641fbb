"""Readers: each sample by its number, exactly as it was written; what is broken is named; indices are of their file."""

import io
import json
import os
import pickle
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader

from clusterwright.runtime.data import Sampler
from clusterwright.runtime.datasets import (
    BadSampleError,
    Images,
    Jsonl,
    Parquet,
    Tar,
    Tolerant,
    Windows,
)

pytestmark = pytest.mark.train


def tar(path, samples, form=tarfile.PAX_FORMAT):
    """A shard of `{key: {ending: bytes}}`."""
    with tarfile.open(path, "w", format=form) as archive:
        for key, parts in samples.items():
            for ending, held in parts.items():
                member = tarfile.TarInfo(f"{key}.{ending}")
                member.size = len(held)
                archive.addfile(member, io.BytesIO(held))
    return path


def image(path, colour):
    """A picture of one colour."""
    pil = pytest.importorskip("PIL.Image")
    path.parent.mkdir(parents=True, exist_ok=True)
    pil.new("RGB", (4, 2), colour).save(path)
    return path


def test_lines_are_found_whatever_ends_them(tmp_path):
    """Empty lines are none, the last one needs no end, and letters may take several bytes."""
    (tmp_path / "b.jsonl").write_text('{"text": "中文"}\n\n  \n[1, 2]')
    (tmp_path / "a.jsonl").write_text('"first"\r\n')
    (tmp_path / "notes.txt").write_text("not data")
    data = Jsonl(tmp_path)

    assert [data[number] for number in range(len(data))] == ["first", {"text": "中文"}, [1, 2]]
    assert data.blocks == (1, 2)


@given(
    st.lists(
        st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5), min_size=1, max_size=20
    )
)
def test_any_json_comes_back(tmp_path_factory, values):
    """As it was, by its number."""
    path = tmp_path_factory.mktemp("json") / "x.jsonl"
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))
    data = Jsonl(path)

    assert [data[number] for number in range(len(data))] == values


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_files_of_one_name_are_a_sample(tmp_path, form):
    """Folders count as part of the name, and so do all letters before the first dot."""
    long = "in/a/folder/" + "x" * (60 if form == tarfile.USTAR_FORMAT else 300)
    written = {
        "0001": {"jpg": b"\xff" * 700, "cls": b"7", "seg.png": b""},
        "sub/0001": {"cls": b"8"},
        long: {"cls": b"9"},
    }
    data = Tar(tar(tmp_path / "x.tar", written, form))

    assert [data[number] for number in range(len(data))] == [
        {"__key__": key, **parts} for key, parts in written.items()
    ]


def test_images_have_the_class_of_their_folder(tmp_path):
    """Numbered by the folders' names; as uint8, colours first."""
    image(tmp_path / "dog" / "1.png", (1, 2, 3))
    image(tmp_path / "cat" / "deep" / "2.PNG", (4, 5, 6))
    data = Images(tmp_path)
    pixels, kind = data[0]

    assert data.classes == ("cat", "dog")
    assert (kind, pixels.shape, pixels.dtype) == (0, (3, 2, 4), torch.uint8)
    assert pixels[:, 0, 0].tolist() == [4, 5, 6]
    assert data[1][1] == 1


def test_rows_of_tables_come_by_number(tmp_path):
    """Over groups and files; groups are blocks; only the columns that are wanted."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, first in (("a", 0), ("b", 5)):
        table = pyarrow.table({"x": [*range(first, first + 5)], "y": ["z"] * 5})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=2)
    data = Parquet(tmp_path, columns=("x",), cache_size=2)

    assert [data[number] for number in (9, 0, 4, 5, 1)] == [{"x": 9}, {"x": 0}, {"x": 4}, {"x": 5}, {"x": 1}]
    assert data.blocks == (2, 2, 1, 2, 2, 1)


def test_windows_overlap_by_one_and_stay_in_their_file(tmp_path):
    """A file that is too short for one is passed over; tokens of two bytes are read as such."""
    (tmp_path / "a.bin").write_bytes(bytes(range(9)))
    (tmp_path / "b.bin").write_bytes(bytes(3))
    (tmp_path / "c.bin").write_bytes(bytes(range(100, 105)))
    tokens = tmp_path / "t.tok"
    tokens.write_bytes(torch.tensor([5, 60000, 7], dtype=torch.int32).to(torch.uint16).numpy().tobytes())
    data, wide = Windows(tmp_path, context=4), Windows(tokens, context=2, dtype=torch.uint16)

    assert [data[n].tolist() for n in range(len(data))] == [
        [0, 1, 2, 3, 4], [4, 5, 6, 7, 8], [100, 101, 102, 103, 104],
    ]  # fmt: skip
    assert (data[0].dtype, wide[0].tolist()) == (torch.int64, [5, 60000, 7])


def test_an_index_is_kept_used_and_made_anew_when_the_file_changes(tmp_path, monkeypatch):
    """And nothing of it is believed when it is cut short."""
    path = tmp_path / "x.jsonl"
    path.write_text("1\n2\n")
    assert len(Jsonl(path)) == 2
    kept = tmp_path / ".x.jsonl.index"
    whole = kept.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Jsonl, "scan", staticmethod(lambda _path: pytest.fail("read again")))
        assert len(Jsonl(path)) == 2
    kept.write_bytes(whole[:-8])
    assert len(Jsonl(path)) == 2
    assert kept.read_bytes() == whole
    path.write_text("1\n2\n3\n")

    assert [Jsonl(path)[number] for number in range(3)] == [1, 2, 3]


def test_a_folder_that_cannot_be_written_to_is_read_all_the_same(tmp_path, monkeypatch):
    """The index is in memory then."""
    (tmp_path / "x.jsonl").write_text("1\n2\n")

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "replace", refuse)
    data = Jsonl(tmp_path)

    assert [data[0], data[1]] == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


def test_what_is_broken_is_named(tmp_path):
    """File, sample and why: a line, a picture, a table, a tar that was cut, a file without samples, no file at all."""
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n{"a": \n')
    (tmp_path / "empty.jsonl").write_text("\n")
    short = tar(tmp_path / "short.tar", {"1": {"bin": bytes(5000)}})
    short.write_bytes(short.read_bytes()[:2000])
    (tmp_path / "no.tar").write_bytes(b"this is no tar file" * 100)
    broken = image(tmp_path / "images" / "cat" / "1.png", (1, 2, 3))
    broken.write_bytes(broken.read_bytes()[:40])
    (tmp_path / "classless" / "cat").mkdir(parents=True)

    with pytest.raises(BadSampleError, match=r"lines\.jsonl: sample 1: not JSON: Expecting value"):
        Jsonl(tmp_path / "lines.jsonl")[1]
    with pytest.raises(ValueError, match=r"empty\.jsonl has no samples"):
        Jsonl(tmp_path / "empty.jsonl")
    with pytest.raises(ValueError, match=r"short\.tar"):
        Tar(short)
    with pytest.raises(ValueError, match=r"no\.tar is not a readable tar file"):
        Tar(tmp_path / "no.tar")
    with pytest.raises(BadSampleError, match=r"1\.png: sample 0: "):
        Images(tmp_path / "images")[0]
    with pytest.raises(ValueError, match="cat has no images"):
        Images(tmp_path / "classless")
    with pytest.raises(ValueError, match=r"no \.tar files in"):
        Tar(tmp_path / "classless")


def test_bad_samples_are_passed_over_only_when_that_is_wanted(tmp_path):
    """The next good one stands for them, always the same; each is told once; too many are an error."""
    (tmp_path / "x.jsonl").write_text("0\n!\n2\n!\n")
    told = []
    data = Tolerant(Jsonl(tmp_path), report=told.append)

    assert [data[number] for number in (0, 1, 2, 3, 1)] == [0, 2, 2, 0, 2]
    assert [line.split(": ")[2] for line in told] == ["sample 1", "sample 3"]
    strict = Tolerant(Jsonl(tmp_path), most=1, report=told.append)
    assert strict[1] == 2
    with pytest.raises(ValueError, match="more than 1 bad samples"):
        strict[3]


def test_workers_read_as_the_rank_would(tmp_path):
    """Forked and spawned ones; a bad sample names its file in the rank."""
    (tmp_path / "x.jsonl").write_text("".join(f"{number}\n" for number in range(40)) + "!\n")
    data = Jsonl(tmp_path)
    read = [*DataLoader(data, batch_size=None, sampler=range(40), num_workers=2)]

    assert read == [*range(40)]
    assert pickle.loads(pickle.dumps(data))[7] == 7
    with pytest.raises(BadSampleError, match=r"x\.jsonl: sample 40"):
        [*DataLoader(data, batch_size=None, sampler=[40], num_workers=1)]


def test_another_dataset_has_another_fingerprint(tmp_path):
    """A run is not resumed on it."""
    (tmp_path / "x.jsonl").write_text("1\n22\n")
    data = Jsonl(tmp_path)
    position = Sampler.over(data, batch=1).state_dict()
    Sampler.over(Jsonl(tmp_path), batch=1).load_state_dict(position)
    (tmp_path / "x.jsonl").write_text("1\n222\n")

    with pytest.raises(ValueError, match="the dataset has changed since the checkpoint"):
        Sampler.over(Jsonl(tmp_path), batch=1).load_state_dict(position)
