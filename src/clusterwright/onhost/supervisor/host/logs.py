"""A rank's log that grows without end is cut: its beginning and its end stay, so that shared storage never fills."""

from __future__ import annotations

import os

MOST_BYTES = 256 << 20  # of one file; 100 MB/s fill a terabyte in three hours
KEPT_BYTES = 1 << 20  # of the beginning, and of the end


def cut(path: str, most: int = MOST_BYTES, kept: int = KEPT_BYTES) -> bool:
    """Cut the file in place if it is larger; True when it was.

    The rank appends to it meanwhile (O_APPEND); what it writes within this moment may be lost.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError:
        return False
    try:
        size = os.fstat(file).st_size
        if size <= most:
            return False
        head, tail = os.pread(file, kept, 0), os.pread(file, kept, size - kept)
        words = (
            f"\n[clusterwright: {size - 2 * kept} bytes are left out here: a log is cut at {most}]\n".encode()
        )
        os.ftruncate(file, 0)
        os.write(file, head + words + tail)
    finally:
        os.close(file)
    return True
