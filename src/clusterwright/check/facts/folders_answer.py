"""Whether file systems answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from clusterwright.check.fact import Want, fact


def _paths(want: Want) -> Sequence[str]:
    disks = (disk.mount for disk in want.host.group.disks if disk.mount)
    shared = (folder.path for folder in want.cluster.storage.values())
    return tuple(dict.fromkeys(("/", *shared, *disks)))


@fact(_paths, probe="answers", limit_s=20)
def folders_answer(out: str) -> dict[str, float | str]:
    """By path: seconds until its file system said how full it is, or why it did not; `no answer` after 5 s."""
    found = json.loads(out)
    if not all(path.startswith("/") and isinstance(said, int | float | str) for path, said in found.items()):
        raise ValueError(out)
    return {str(path): said for path, said in found.items()}
