"""Journals of JSON objects, one a line (standard library, Python 3.6)."""

import json
import os
from typing import Any, BinaryIO, Dict, Iterator, Optional

from clusterwright.onhost.lib.safe_reader import Path, open_regular, parse_object

LINE_BYTES = 1 << 20  # of a line that is read; ours have some hundred
FILE_BYTES = 1 << 30  # of a file that is read


def read_lines(
    path: Path, limit: int = FILE_BYTES, *, inside: Optional[Path] = None
) -> Iterator[Dict[str, Any]]:
    """The objects of a file, in order; lines that are torn, too long or no object are passed over.

    Raises:
        UnsafeFileError: it is no regular file.
        OSError: it cannot be read.
    """
    with open_regular(path, inside=inside) as file:
        yield from parse_lines(file, limit)


def parse_lines(file: BinaryIO, limit: int = FILE_BYTES) -> Iterator[Dict[str, Any]]:
    """The objects from here to the end, or to the limit."""
    torn = False
    while limit > 0:
        line = file.readline(LINE_BYTES)
        if not line:
            return
        limit -= len(line)
        ends = line.endswith(b"\n")
        document = {} if torn else parse_object(line)
        torn = not ends
        if document:
            yield document


class JsonLines:
    """A file that lines are appended to, each in one `write`; where one was torn, the next begins a new line."""

    def __init__(self, path: Path, *, mode: int = 0o644) -> None:
        self.path, self._mode, self._torn = path, mode, False

    def append(self, document: Dict[str, Any]) -> None:
        """Append one object.

        Raises:
            OSError: the disk does not take all of it.
        """
        data = b"\n" * self._torn + json.dumps(document).encode() + b"\n"
        handle = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, self._mode)
        self._torn = True
        try:
            written = os.write(handle, data)
        finally:
            os.close(handle)
        if written < len(data):
            raise OSError("%s took %d of %d bytes" % (self.path, written, len(data)))
        self._torn = False
