"""The version of Slurm that the host runs."""

from __future__ import annotations

from clusterwright.check.fact import HostSpec, fact


def _daemon(spec: HostSpec) -> tuple[str, ...]:
    return ("slurmctld" if spec.is_control else "slurmd" if spec.is_compute else "sinfo", "-V")


@fact(_daemon)
def slurm_version(out: str) -> str:
    """Version of the installed Slurm daemon; the running one may be older until its restart."""
    name, version = out.split()
    if not name.startswith("slurm"):
        raise ValueError(out)
    return version
