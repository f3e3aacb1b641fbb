"""Read files with one JSON object per line (standard library, Python 3.6)."""

from typing import Any, Dict, Iterator, Optional

from clusterwright.onhost.lib.safe_reader import Path, open_regular, parse_object

LINE_BYTES = 1 << 20  # longest line that is read; ours have a few hundred
FILE_BYTES = 1 << 30  # most that is read of a file


def read_lines(
    path: Path, limit: int = FILE_BYTES, *, inside: Optional[Path] = None
) -> Iterator[Dict[str, Any]]:
    """Yield the JSON objects of a file in order, of at most `limit` bytes; skip incomplete, overlong and other lines.

    Raises:
        UnsafeFileError: not a regular file.
        OSError: the file cannot be read.
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
