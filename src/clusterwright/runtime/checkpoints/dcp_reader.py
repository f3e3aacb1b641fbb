"""Read a DCP checkpoint without running code from it: torch's own reader unpickles its metadata and its values."""

from __future__ import annotations

import dataclasses
import io
import pickle  # nosec B403 # _MetadataUnpickler refuses every other class
from typing import Any

import torch
from torch.distributed.checkpoint import metadata
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.planner import ReadItem

from clusterwright.runtime.checkpoints import tree
from clusterwright.runtime.checkpoints.source import Damaged

# What torch writes into `.metadata`, beside the dataclasses of torch.distributed.checkpoint.metadata and dtypes.
_CLASSES = {
    ("collections", "OrderedDict"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
    ("torch", "Size"),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch.serialization", "_get_layout"),
}


class DcpReader(FileSystemReader):
    """torch's reader of a folder with a restricted unpickler; it reads only files of the folder itself."""

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
        for info in about.storage_data.values():
            name = getattr(info, "relative_path", None)
            if not isinstance(name, str) or "/" in name or name in {"", ".", ".."}:
                raise Damaged(f".metadata names the file {name!r}, which is not in the folder")
        about.storage_meta = about.storage_meta or metadata.StorageMeta()
        about.storage_meta.load_id = self.load_id
        return about


class PlainPlanner(DefaultLoadPlanner):
    """torch's planner for values that are made of tensors and plain types."""

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Load a value that is no tensor by a restricted unpickler, so that nothing of it runs."""
        plain = io.BytesIO()
        torch.save(tree.load_torch(value), plain)
        super().load_bytes(read_item, io.BytesIO(plain.getvalue()))


class _MetadataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return a class or dtype that torch's metadata consist of; raise Damaged for any other global."""
        if (module, name) in _CLASSES:
            return super().find_class(module, name)
        kind = getattr(metadata, name, None) if module == metadata.__name__ else None
        if module == "torch" and isinstance(dtype := getattr(torch, name, None), torch.dtype):
            return dtype
        if isinstance(kind, type) and kind.__module__ == module and _is_plain(kind):
            return kind
        raise Damaged(f"unexpected {module}.{name} in .metadata")


def _is_plain(kind: type) -> bool:
    """Return True if a class is a dataclass or an enumeration."""
    return dataclasses.is_dataclass(kind) or hasattr(kind, "__members__")
