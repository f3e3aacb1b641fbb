"""Where the bytes of a part come from: a file, memory, or whatever else has these few methods."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol


class Damaged(Exception):  # noqa: N818 (said of a checkpoint; nothing went wrong in the program)
    """What is there is not what was saved."""


class Source(Protocol):
    """The bytes of one part.

    `read` raises Damaged when the bytes end early or are known not to be those that were saved, and OSError when
    they cannot be had. A load of a whole part reads from its first byte to its last, in their order, so that a
    socket can stand behind it; a load of some tensors leaves bytes out, and never goes back.
    """

    name: str

    def size(self) -> int:
        """How many bytes there are."""
        ...

    def read(self, start: int, into: memoryview) -> None:
        """Fill `into` with the bytes from `start` on."""
        ...

    def close(self) -> None:
        """Nothing more will be read."""
        ...


class FileSource:
    """A file."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            self._file: Any = path.open("rb", buffering=0)
        except FileNotFoundError:
            raise Damaged(f"{path.name} is missing") from None

    def size(self) -> int:
        """As the file system has it now."""
        return os.fstat(self._file.fileno()).st_size

    def read(self, start: int, into: memoryview) -> None:
        """One system call reads at most 2 GiB, and may stop earlier."""
        offset = 0
        while offset < len(into):
            if not (count := os.preadv(self._file.fileno(), [into[offset:]], start + offset)):
                raise Damaged(f"{self.name} ends early")
            offset += count

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class MemorySource:
    """Bytes in memory; they may not change while they are read."""

    def __init__(self, name: str, data: memoryview) -> None:
        self.name, self._data = name, data

    def size(self) -> int:
        """All of it."""
        return len(self._data)

    def read(self, start: int, into: memoryview) -> None:
        """A copy."""
        if start + len(into) > len(self._data):
            raise Damaged(f"{self.name} ends early")
        into[:] = self._data[start : start + len(into)]

    def close(self) -> None:
        """Let go of the memory."""
        self._data.release()
