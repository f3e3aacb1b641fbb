"""The MPI of the distribution or of the site."""

from __future__ import annotations

from clusterwright.check.fact import fact
from clusterwright.onhost.adapters.mpi_build import COMMAND, MpiBuild, parse_mpi_build


@fact("sh", "-c", COMMAND, limit_s=30)
def mpi_build(out: str) -> MpiBuild:
    """Name and version of the MPI on PATH, and whether it was built with CUDA (ompi_info, mpiname, mpichversion)."""
    return parse_mpi_build(out)
