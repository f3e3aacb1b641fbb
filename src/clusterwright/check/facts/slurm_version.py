"""The version of Slurm that the host runs."""

from __future__ import annotations

from clusterwright.check.fact import Want, fact


def _daemon(want: Want) -> tuple[str, ...]:
    return ("slurmctld" if want.is_control else "slurmd" if want.is_compute else "sinfo", "-V")


@fact(_daemon)
def slurm_version(out: str) -> str:
    """Version of the Slurm daemon on disk; the one that runs may be older until its restart."""
    name, version = out.split()
    if not name.startswith("slurm"):
        raise ValueError(out)
    return version
