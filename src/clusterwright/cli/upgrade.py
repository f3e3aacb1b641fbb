"""`wright upgrade CLUSTER --slurm VERSION`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def upgrade(
    cluster: Path,
    /,
    *,
    slurm: str,
    batch: str = "25%",
    dry_run: Annotated[bool, Parameter(alias="-n")] = False,
    yes: Annotated[bool, Parameter(alias="-y")] = False,
    json: bool = False,
) -> int:
    """Bring Slurm to a newer release while jobs run: slurmdbd, slurmctld, slurmd in batches, clients.

    Parameters
    ----------
    cluster
        The cluster file; its `software.slurm` becomes the new version.
    slurm
        The new version, such as 26.05.
    batch
        Compute hosts at once after the first one, as a number or a part: 8, 25%.
    dry_run
        Show the steps; change nothing.
    yes
        Do not ask.
    json
        One JSON document on stdout.
    """
    from clusterwright.cli import _upgrade  # noqa: PLC0415 (start-up time)
    from clusterwright.cli._members import Asked  # noqa: PLC0415

    return _upgrade.upgrade(cluster, slurm, batch, Asked(dry_run=dry_run, yes=yes, json=json))
