"""CUDA's toolkit, cuDNN and NCCL as packages."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.alike import alike
from clusterwright.provision.gpu_packages import gpu_packages, of_nvidia
from clusterwright.provision.resources import Resource, RoleContext

DEPENDENCIES = ("nvidia",)


@alike
def cuda(cluster: Cluster, host: Host, _context: RoleContext) -> tuple[Resource, ...]:
    """Return CUDA, cuDNN and NCCL, as far as `software` sets them, for hosts with NVIDIA GPUs.

    They are separate package sets: one that is unavailable does not block the others. The cost is a drain, because jobs
    have their files open.
    """
    software = cluster.software
    if of_nvidia(cluster, host) is None:
        return ()
    return (
        *(gpu_packages(cluster, "cuda", software.cuda, Cost.DRAIN) if software.cuda else ()),
        *(gpu_packages(cluster, "cudnn", software.cudnn, Cost.DRAIN) if software.cudnn else ()),
        *(gpu_packages(cluster, "nccl", software.nccl, Cost.DRAIN) if software.nccl else ()),
    )
