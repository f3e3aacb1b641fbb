"""Whether the MPI on a host takes the addresses of GPU memory (CUDA-aware), by what its own programs print."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

# Open MPI, MVAPICH, MPICH: the first that is on PATH answers.
COMMAND = (
    "if command -v ompi_info >/dev/null; then"
    " echo '@ Open MPI'; ompi_info --parsable --all | grep -E 'mpi_built_with_cuda_support:value|^ompi:version:full';"
    " echo '@ UCX'; ucx_info -v 2>/dev/null | grep 'onfigured with';"
    " elif command -v mpiname >/dev/null; then echo '@ MVAPICH'; mpiname -a;"
    " elif command -v mpichversion >/dev/null; then echo '@ MPICH'; mpichversion;"
    " else echo '@ none'; fi; true"
)
_VERSION = {
    "Open MPI": re.compile(r"^ompi:version:full:(\S+)", re.MULTILINE),
    "MVAPICH": re.compile(r"^MVAPICH\S*(?: Version:)?\s+(\d\S*)", re.MULTILINE),
    "MPICH": re.compile(r"^MPICH Version:\s+(\S+)", re.MULTILINE),
}


class MpiBuild(NamedTuple):
    """The MPI of a host; `cuda` is None where its output does not tell, and `name` is empty without MPI."""

    name: str
    version: str = ""
    cuda: Optional[bool] = None

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


def parse_mpi_build(text: str) -> MpiBuild:
    """Return the MPI of a host from the output of COMMAND; its name is empty if there is no MPI.

    Raises:
        ValueError: it is no such output.
    """
    match = re.search(r"^@ (.+)$", text, re.MULTILINE)
    if match is None:
        raise ValueError(text[:80])
    name = match[1]
    if name == "none":
        return MpiBuild("")
    version = _VERSION[name].search(text)
    return MpiBuild(name, version[1] if version else "", _cuda(name, text))


def _cuda(name: str, text: str) -> Optional[bool]:
    if name == "Open MPI":
        if "mpi_built_with_cuda_support:value:" not in text:
            return None
        return "mpi_built_with_cuda_support:value:true" in text
    if re.search(
        r"MVAPICH\S*-GDR|--enable-cuda|--with-cuda(?!=no)|[Cc][Uu][Dd][Aa] support\s*: *(yes|enabled)", text
    ):
        return True
    if name == "MVAPICH" or "--without-cuda" in text or "--with-cuda=no" in text:
        return False
    return None  # MPICH from 3.4 on also uses a CUDA that its configure found by itself
