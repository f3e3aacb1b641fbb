"""Checkpoints that another user made: an error in time, without much memory, and nothing outside of their folder."""

import json
import os
import pickle
import struct
import time

import pytest

torch = pytest.importorskip("torch")

from clusterwright.onhost.lib import checkpoint_manifest
from clusterwright.onhost.runs.run_checkpoints import listing, verify
from clusterwright.runtime.checkpoints import disk, manifest, memory, part, tree
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
