"""`wright upgrade CLUSTER --slurm VERSION`, or `--driver VERSION`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def upgrade(
    cluster: Path,
    /,
    *,
    slurm: str = "",
    driver: str = "",
    batch: str = "25%",
    wait: str = "1h",
    dry_run: Annotated[bool, Parameter(alias="-n")] = False,
    yes: Annotated[bool, Parameter(alias="-y")] = False,
    json: bool = False,
) -> int:
    """Bring Slurm to a newer release while jobs run, or the NVIDIA driver to another version.

    Slurm: slurmdbd, slurmctld, slurmd in batches, clients. The driver: each batch of hosts is drained, changed,
    rebooted, checked and given back.

    Parameters
    ----------
    cluster
        The cluster file; what it says of the version becomes the new one.
    slurm
        The new version of Slurm, such as 26.05.
    driver
        The new version of the driver, such as 580.95.05; the file's `software.driver` becomes it.
    batch
        Compute hosts at once after the first one, as a number or a part: 8, 25%.
    wait
        With --driver: longest time for jobs to end, in all.
    dry_run
        Show the steps; change nothing.
    yes
        Do not ask.
    json
        One JSON document on stdout.
    """
    from clusterwright.cli._care import Gently
    from clusterwright.cli._members import Asked

    asked = Asked(dry_run=dry_run, yes=yes, json=json)
    _one_thing(slurm, driver)
    if driver:
        from clusterwright.cli._upgrade_driver import upgrade_driver

        return upgrade_driver(cluster, driver, Gently(batch=batch, wait=wait), asked)
    from clusterwright.cli import _upgrade

    return _upgrade.upgrade(cluster, slurm, batch, asked)


def _one_thing(slurm: str, driver: str) -> None:
    """Exactly one of them is named."""
    from clusterwright.errors import EXIT_USAGE, WrightError

    if bool(slurm) == bool(driver):
        words = "pass --slurm VERSION or --driver VERSION"
        raise WrightError.of("upgrade-what", "one thing is upgraded at a time", words, exit_code=EXIT_USAGE)
