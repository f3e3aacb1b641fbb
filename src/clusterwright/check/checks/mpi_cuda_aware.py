"""MPI takes GPU memory."""

from __future__ import annotations

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.mpi_build import mpi_build
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.onhost.adapters.mpi_build import MpiBuild


def _has_gpus(spec: HostSpec) -> bool:
    return spec.host.group.gpus is not None


def _in_lab(spec: HostSpec) -> str:
    return _("GPUs of a lab are simulated") if spec.cluster.lab else ""


@check(
    mpi_build,
    when=_has_gpus,
    unless=_in_lab,
    on=("deploy",),
    fix="if programs pass GPU memory to MPI, install one built with CUDA (HPC-X, or Open MPI and UCX --with-cuda)",
)
def mpi_cuda_aware(_spec: HostSpec, have: MpiBuild) -> Verdict:
    """The MPI on PATH is CUDA-aware; otherwise programs that pass GPU memory to MPI crash. NCCL does not need it.

    Without CUDA a warning; unknown if the MPI does not tell; ok without MPI.
    """
    expected = _("the MPI library is built with CUDA, in case programs pass GPU memory to MPI")
    if not have.name:
        return fine(observed=_("no MPI is installed"), expected=expected)
    if have.cuda is None:
        return fault(
            observed=_("{mpi} does not tell whether it was built with CUDA", mpi=have),
            expected=expected,
            otherwise=Status.UNKNOWN,
        )
    if have.cuda:
        return fine(observed=_("{mpi}, built with CUDA", mpi=have), expected=expected)
    return fault(observed=_("{mpi}, built without CUDA", mpi=have), expected=expected, otherwise=Status.WARN)
