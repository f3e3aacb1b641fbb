"""Journals of JSON objects, one a line (standard library, Python 3.6)."""

from typing import Any, Dict, Iterator, Optional

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
    torn = False
    with open_regular(path, inside=inside) as file:
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
