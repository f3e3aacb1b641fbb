"""Read a DCP checkpoint without running code from it: torch's own reader unpickles its metadata and its values."""

from __future__ import annotations

import dataclasses
import enum
import io
import os
import pickle  # nosec B403 # _MetadataUnpickler refuses every other class
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

import torch
from torch.distributed.checkpoint import metadata
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.filesystem import FileSystem, FileSystemReader
from torch.distributed.checkpoint.planner import ReadItem

from clusterwright.runtime.checkpoints import tree
from clusterwright.runtime.checkpoints.source import Damaged, open_own_file

# What torch writes into `.metadata`, beside the dataclasses of torch.distributed.checkpoint.metadata and dtypes.
_CLASSES = {
    ("collections", "OrderedDict"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
    ("torch", "Size"),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch.serialization", "_get_layout"),
}

_BLOCK_BYTES = 512  # of st_blocks, stat(2)
_MOST_COMPRESSED = 16  # ours: bytes of a file per byte on disk


class _OwnFiles(FileSystem):
    """torch's access to files, for regular files only: neither links nor pipes."""

    @contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Iterator[io.IOBase]:  # noqa: ARG002 (as above)
        """Open a file of the checkpoint to read it in a `with` block; `mode` is ignored."""
        with io.BufferedReader(open_own_file(Path(path))) as file:
            yield file


class DcpReader(FileSystemReader):
    """torch's reader of a folder with a restricted unpickler; it reads only files of the folder itself."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.fs = _OwnFiles()

    def read_metadata(self, *args: Any, **named: Any) -> metadata.Metadata:  # noqa: ARG002 (torch's signature)
        """Return the metadata of a DCP checkpoint, unpickled without running code from it.

        Raises:
            Damaged: it would run code, is no metadata, or names a file outside of the folder.
            OSError: it cannot be read.
        """
        with self.fs.create_stream(self._get_metadata_path(), "rb") as file:
            data = file.read()
        try:
            about = _MetadataUnpickler(io.BytesIO(data)).load()
        except tree.CRAFTED as error:
            raise Damaged(f".metadata cannot be read: {type(error).__name__}") from error
        if not isinstance(about, metadata.Metadata) or not isinstance(about.storage_data, dict):
            raise Damaged(".metadata is not that of a DCP checkpoint")
        self._require_bytes(about)
        for info in about.storage_data.values():
            name = getattr(info, "relative_path", None)
            if not isinstance(name, str) or "/" in name or name in {"", ".", ".."}:
                raise Damaged(f".metadata names the file {name!r}, which is not in the folder")
        about.storage_meta = about.storage_meta or metadata.StorageMeta()
        about.storage_meta.load_id = self.load_id
        return about

    def _require_bytes(self, about: metadata.Metadata) -> None:
        """Raise Damaged if the tensors claim more bytes than the files have: memory is allocated for them first."""
        with os.scandir(cast("Path", self.path)) as files:
            statuses = [file.stat(follow_symlinks=False) for file in files]
        # A hole has a size without bytes; a file system that compresses keeps more bytes than blocks.
        actual = sum(
            min(status.st_size, status.st_blocks * _BLOCK_BYTES * _MOST_COMPRESSED)
            for status in statuses
            if stat.S_ISREG(status.st_mode)
        )
        try:
            entries = about.state_dict_metadata.values()
            tensors = [entry for entry in entries if isinstance(entry, metadata.TensorStorageMetadata)]
            claimed = sum(entry.size.numel() * entry.properties.dtype.itemsize for entry in tensors)
            is_negative = any(dimension < 0 for entry in tensors for dimension in entry.size)
        except tree.CRAFTED as error:
            raise Damaged(f".metadata cannot be read: {type(error).__name__}") from error
        if is_negative:  # it would make the sum small
            raise Damaged(".metadata has a tensor with a negative dimension")
        if claimed > tree.MOST_RATIO * actual:
            raise Damaged(f".metadata claims {claimed} bytes of tensors in files of {actual} bytes")


class PlainPlanner(DefaultLoadPlanner):
    """torch's planner for values that are made of tensors and plain types."""

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Load a value that is no tensor by a restricted unpickler, so that nothing of it runs."""
        plain = io.BytesIO()
        torch.save(tree.load_torch(value), plain)
        super().load_bytes(read_item, io.BytesIO(plain.getvalue()))


_Unpickler: Any = pickle._Unpickler  # noqa: SLF001 (pickle's own in Python: the one in C has no method for each opcode)


class _MetadataUnpickler(_Unpickler):  # type: ignore[misc] # (typed as Any)
    dispatch: ClassVar = dict(_Unpickler.dispatch)

    def load_build(self) -> None:
        """Set the state of an instance; of a class, it would change all its instances in this process.

        Raises:
            Damaged: the state is not of an instance of a dataclass.
        """
        target = self.stack[-2]
        if isinstance(target, type) or not dataclasses.is_dataclass(target):
            raise Damaged(f"the state of {type(target).__name__} in .metadata is set")
        super().load_build()

    dispatch[pickle.BUILD[0]] = load_build

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or dtype that torch's metadata consist of; raise Damaged for any other global."""
        if (module, name) == (
            "builtins",
            "getattr",
        ):  # Python 3.11.0 to 3.11.3 names a member of an enumeration so
            return _enum_member
        if (module, name) in _CLASSES:
            return super().find_class(module, name)
        kind = getattr(metadata, name, None) if module == metadata.__name__ else None
        if module == "torch" and isinstance(dtype := getattr(torch, name, None), torch.dtype):
            return dtype
        if isinstance(kind, type) and kind.__module__ == module and _is_plain(kind):
            return kind
        raise Damaged(f"unexpected {module}.{name} in .metadata")


def _enum_member(kind: Any, name: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, enum.Enum) and name in kind.__members__:
        return kind[name]
    raise Damaged(f"unexpected attribute {name!r} in .metadata")


def _is_plain(kind: type) -> bool:
    """Return True if a class is a dataclass or an enumeration."""
    return dataclasses.is_dataclass(kind) or hasattr(kind, "__members__")
