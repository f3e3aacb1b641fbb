"""CuDNN and NCCL are made for the CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash

_NAMES = {"cudnn": "cuDNN", "nccl": "NCCL"}


def cuda_libraries(cluster: Cluster) -> Iterator[Clash]:
    """Each was released for the major version of CUDA that the file names."""
    cuda = cluster.software.cuda
    asked = {"cudnn": cluster.software.cudnn, "nccl": cluster.software.nccl}
    if cuda is None or not any(asked.values()):
        return
    from clusterwright.catalog.software import cuda_majors, library_for, major

    for library, which in asked.items():
        known = cuda_majors(library, which) if which else None
        if known and major(cuda) not in known:
            made = " and ".join(str(each) for each in sorted(known))
            other = library_for(library, major(cuda))
            yield Clash(
                "library-cuda",
                f"{_NAMES[library]} {which} is made for CUDA {made}, and the hosts are to have {cuda}",
                f"take {_NAMES[library]} {other}, or a CUDA {max(known)}"
                if other
                else f"take a CUDA {max(known)}",
                (("software", library), ("software", "cuda")),
            )
