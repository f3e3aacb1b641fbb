"""`wright validate FILE`."""

from __future__ import annotations

from pathlib import Path


def validate(file: Path, /) -> int:
    """Read a cluster or job file and say everything that is wrong with it."""
    from clusterwright.spec.load import load_cluster, load_job  # noqa: PLC0415 (start-up time)

    (load_job if "job" in file.name else load_cluster)(file)
    return 0
