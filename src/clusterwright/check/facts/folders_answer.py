"""Response times of file systems."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact
from clusterwright.onhost.lib.safe_reader import parse_document


def _paths(spec: HostSpec) -> Sequence[str]:
    disks = (disk.mount for disk in spec.host.group.disks if disk.mount)
    shared = (folder.path for folder in spec.cluster.storage.values())
    return tuple(dict.fromkeys(("/", *shared, *disks)))


@fact(_paths, probe="answers", limit_s=20)
def folders_answer(out: str) -> dict[str, float | str]:
    """Seconds that statvfs took by path, or its error; `no answer` after 5 s."""
    answers = parse_document(out)
    if not all(
        path.startswith("/") and isinstance(answer, int | float | str) for path, answer in answers.items()
    ):
        raise ValueError(out)
    return {str(path): answer for path, answer in answers.items()}
