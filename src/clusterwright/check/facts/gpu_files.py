"""The GPUs' device files."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact


def _paths(spec: HostSpec) -> Sequence[str]:
    gpus = spec.host.group.gpus
    return gpus.device_files() if gpus else ()


@fact("stat", "-c", "%n|%F", _paths, codes=(0, 1))
def gpu_files(out: str) -> dict[str, str]:
    """File type by path of each declared GPU device file; missing files are left out."""
    types_by_path = dict(line.split("|") for line in out.splitlines())
    if not all(path.startswith("/") for path in types_by_path):
        raise ValueError(out)
    return types_by_path
