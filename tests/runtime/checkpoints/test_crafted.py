"""Checkpoints that another user made: an error in time, without much memory, and nothing outside of their folder."""

import io
import json
import os
import pickle
import struct
import time
import zipfile

import pytest

torch = pytest.importorskip("torch")

from clusterwright.onhost.lib import checkpoint_manifest
from clusterwright.onhost.runs.run_checkpoints import listing, verify
from clusterwright.runtime.checkpoints import disk, forms, manifest, memory, part, tree
from clusterwright.runtime.checkpoints.checkpoint import load
from clusterwright.runtime.checkpoints.source import Damaged

pytestmark = pytest.mark.train

DICT = b"\x80\x04}\x8c\x05model"
TENSOR = b"cclusterwright.runtime.checkpoints.tree\n_tensor\n(\x8c\x03F32(\x8a\x07%bt" % (2**50).to_bytes(
    7, "little"
)
STRUCTURES = {
    "deep": b"P\x80\x04" + b"]" * 5000 + b"a" * 4999 + b".",
    "memo of 24 GiB": b"P\x80\x04}r" + struct.pack("<I", 0x60000000) + b".",
    "tensor of 4 PiB": b"P" + DICT + b"}\x8c\x01w" + TENSOR + b"C\x00tRss.",
    "truncated": b"P" + DICT,
    "name of no tensor": b"P" + pickle.dumps({"model": {"w": {"\0tensor": "model/x"}}}, protocol=4),
    "list as a name": b"P" + pickle.dumps({"model": {"w": {"\0tensor": [1]}}}, protocol=4),
    "no archive": b"Tx",
}


def craft(folder, structure=None, boxes=None, document=None, file="part-00000-of-00001.safetensors"):
    """Write a checkpoint with valid checksums around what is crafted."""
    step = folder / "step-00000012"
    step.mkdir(parents=True)
    tensors = {}
    skeleton = tree.flatten({"model": {"w": torch.ones(4, 4)}, "run": {}}, "", tensors)
    packed = tree.pack(skeleton)
    if structure is not None:
        data = len(structure).to_bytes(8, "little") + structure
        packed = memory.tensor(data + bytes(-len(data) % 1024))
    chunks = [
        part.Chunk(name, tensor)
        for name, tensor in {**tensors, "rank": tree.pack({}), "tree": packed}.items()
    ]
    plan = part.layout(chunks)
    if boxes is not None:
        header = json.loads(plan.head[8:])
        header["__metadata__"]["boxes"] = json.dumps(boxes)
        text = json.dumps(header).encode()
        text += b" " * (-(8 + len(text)) % 64)
        head = len(text).to_bytes(8, "little") + text
        plan = part.Layout(head, part._entries(head), plan.order, len(head) + plan.bytes - len(plan.head))
    staged = torch.empty(plan.bytes, dtype=torch.uint8)
    part.stage(plan, chunks, staged)
    written = disk.write(step / "part-00000-of-00001.safetensors", plan, staged)
    row = {"file": file, "bytes": written.bytes, "digest": written.digest}
    fields = {
        "format": 2,
        "step": 12,
        "world_size": 1,
        "torch": "2",
        "time": time.time(),
        "value": None,
        "parts": [row],
    }
    fields |= document or {}
    text = json.dumps({**fields, "sha256": checkpoint_manifest.checksum(fields)})
    (step / manifest.NAME).write_text(text)
    return step


def test_the_untouched_checkpoint_is_good(tmp_path):
    """So that each refusal below is one of what was crafted."""
    shared, _local = load(craft(tmp_path))
    assert torch.equal(shared["model"]["w"], torch.ones(4, 4))


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_crafted_structure_is_damage(tmp_path, name):
    """Not an exception that a command takes for a bug, nor the memory that it claims."""
    with pytest.raises(Damaged, match="structure of the state"):
        load(craft(tmp_path, structure=STRUCTURES[name]))


@pytest.mark.parametrize(
    "boxes",
    [
        {"model/w": ["model/w", [2**40, 4], [0, 0]]},
        {"model/w": ["model/w", [2**31, 4], [0, 0]]},
        {"model/w": ["model/v", [4, 4], [0, 0]]},
    ],
)
def test_a_box_of_another_shape_or_name_is_damage(tmp_path, boxes):
    """Before memory is reserved for the shape."""
    with pytest.raises(Damaged):
        load(craft(tmp_path, boxes=boxes))


@pytest.mark.parametrize("file", ["/etc/hostname", "../other/part", "..", "a\0b", "a\nb", 7, ["x"]])
def test_a_part_is_a_file_of_its_checkpoint(tmp_path, file):
    """For the runtime as for `list`: neither opens another."""
    step = craft(tmp_path, file=file)
    with pytest.raises(Damaged, match=r"manifest\.json"):
        load(step)
    (row,) = listing(str(tmp_path))["checkpoints"]
    assert row["state"] == "damaged"
    (row,) = verify(str(tmp_path), None, everything=True)["checkpoints"]
    assert row["state"] == "damaged"


@pytest.mark.parametrize("everything", [True, False])
def test_a_part_that_is_a_link_is_damage(tmp_path, everything):
    """Else root would say of a file of another user whether it has the bytes that the link's owner expects."""
    step = craft(tmp_path / "checkpoints")
    (file,) = step.glob("*.safetensors")
    file.rename(tmp_path / "private")
    file.symlink_to(tmp_path / "private")

    with pytest.raises(Damaged, match="is not a regular file"):
        load(step)
    (row,) = listing(str(step.parent))["checkpoints"]
    assert (row["state"], row["reason"]) == ("damaged", f"{file.name} is not a regular file")
    (row,) = verify(str(step.parent), None, everything=everything)["checkpoints"]
    assert row["state"] == "damaged"


@pytest.mark.parametrize(
    "document", [{"time": 10**4000}, {"value": 10**400}, {"world_size": 10**20}, {"torch": []}]
)
def test_fields_have_their_types_and_sizes(tmp_path, document):
    """A number with thousands of digits is no time."""
    step = craft(tmp_path, document=document)
    (row,) = listing(str(tmp_path))["checkpoints"]
    assert row["state"] == "damaged"
    with pytest.raises(Damaged, match=r"manifest\.json"):
        load(step)


def test_no_part_is_named_twice(tmp_path):
    """A small file would otherwise be read a million times."""
    row = {"file": "x", "bytes": 1, "digest": "0" * 64}
    step = craft(tmp_path, document={"world_size": 2, "parts": [row, row]})
    with pytest.raises(Damaged, match="invalid field"):
        load(step)
    assert os.listdir(step)


def shared_lists(levels):
    """Return a structure of a few bytes a level, with two paths to each next level."""
    value = []
    for _ in range(levels):
        value = [value, value]
    return value


def shared_tuples(levels):
    """Return the pickle of a dict whose key is a tuple with two paths to each next level, which Python cannot hash."""
    text = b"\x80\x04})\x94"
    for level in range(levels):
        text += b"0h" + bytes([level]) + b"h" + bytes([level]) + b"\x86\x94"
    return text + b"Ns."


@pytest.mark.parametrize("levels", [24, 60])
@pytest.mark.parametrize("kind", ["lists", "dicts", "torch.save", "keys"])
def test_shared_containers_are_damage_and_not_copied(tmp_path, kind, levels):
    """200 bytes would become 2 to the power of 24 or 60 lists."""
    value = {"model": shared_lists(levels)}
    if kind == "dicts":
        value = {"model": {"a": value, "b": value}}
    stream = io.BytesIO()
    if kind == "torch.save":
        torch.save(value, stream)
    packed = {"torch.save": b"T" + stream.getvalue(), "keys": b"P" + shared_tuples(levels)}
    step = craft(tmp_path, structure=packed.get(kind, b"P" + pickle.dumps(value, protocol=4)))
    start = time.monotonic()
    with pytest.raises(Damaged, match="the structure of the state names the same"):
        load(step)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("key", [False, True])
def test_a_torch_file_of_shared_containers_is_damage(tmp_path, key):
    """Also where a key of its pickle is one, which loading alone would hash."""
    path = tmp_path / "state.pt"
    torch.save({"model": shared_lists(60)}, path)
    if key:
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(tmp_path / "key.pt", "w") as crafted:
            for name in archive.namelist():
                is_pickle = name.endswith("data.pkl")
                crafted.writestr(name, shared_tuples_of_torch(60) if is_pickle else archive.read(name))
        path = tmp_path / "key.pt"
    with pytest.raises(Damaged, match="the structure of the state names the same"):
        forms.FORMS["torch"][1](path)


def shared_tuples_of_torch(levels):
    """Return `shared_tuples` in the protocol of torch.save."""
    text = b"\x80\x02})q\x00"
    for level in range(levels):
        text += b"0h" + bytes([level]) + b"h" + bytes([level]) + b"\x86q" + bytes([level + 1])
    return text + b"Ns."


def test_containers_that_a_state_names_twice_are_saved_and_restored():
    """As the betas of an optimizer in each of its groups, and keys that are tuples."""
    betas, key = (0.9, 0.999), ("a", (1, 2))
    state = {"groups": [{"betas": betas, key: []} for _ in range(1000)], "types": {torch.float32, torch.int8}}
    for value in (state, {"groups": state["groups"]}):
        packed = tree.pack(tree.flatten(value, "", {}))
        assert tree.restore(tree.unpack(packed), {}) == value
