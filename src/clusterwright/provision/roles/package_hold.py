"""Pinned packages, which only an apply upgrades: a driver that changes under a running job ends the job."""

from __future__ import annotations

import re

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.packages import packages
from clusterwright.provision.resources import File, Hold, Resource, RoleContext

DEPENDENCIES = ("base",)

# Names in NVIDIA's driver repositories, in the distributions and in DOCA and MLNX_OFED.
DRIVER = (
    "nvidia-*", "libnvidia-*", "cuda-drivers*", "xserver-xorg-video-nvidia*", "linux-modules-nvidia-*",
    "linux-objects-nvidia-*", "kmod-nvidia*", "dkms-nvidia*",
)  # fmt: skip
FABRIC = (
    "doca-*", "mlnx-*", "ofed-*", "knem*", "rdma-core*", "libibverbs*", "ibverbs-*", "librdmacm*", "opensm*",
    "ucx*", "libucx*", "kmod-mlnx*",
)  # fmt: skip
SLURM = ("slurm*", "libslurm*")
# Other packages of NVIDIA and AMD that Clusterwright installs if the file names them.
LIBRARIES = (
    "libcuda1",
    "libcudadebugger1",
    "libnvcuvid1",
    "cuda-toolkit-*",
    "libcudnn*",
    "libnccl*",
    "datacenter-gpu-manager*",
)
AMD = ("amdgpu*", "rocm*")
# Driver and fabric modules are built for one kernel: after a boot with another one the host has no GPUs.
KERNEL = (
    "linux-image-*", "linux-headers-*", "linux-modules-*", "linux-generic*", "linux-nvidia*",
    "kernel", "kernel-core", "kernel-modules*", "kernel-devel*",
)  # fmt: skip

APT = "/etc/apt/apt.conf.d/52clusterwright-hold"


@alike
def package_hold(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the holds of drivers, fabric, Slurm and, with GPUs, the kernel: only `wright upgrade` upgrades these."""
    kernel = KERNEL if host.group.gpus else ()
    libraries = LIBRARIES if cluster.software.nvidia else ()
    amd = AMD if cluster.software.rocm else ()
    patterns = (*DRIVER, *FABRIC, *SLURM, *kernel, *libraries, *amd, *cluster.system.hold_packages)
    hold_resource = Hold(name="packages", patterns=patterns)
    if cluster.platform.package_manager == "dnf":
        return (*packages(cluster, "versionlock"), hold_resource)
    # unattended-upgrades skips held packages; this covers packages installed before the next apply.
    rows = "".join(f'  "{expression(pattern)}";\n' for pattern in patterns)
    text = f"{context.header()}Unattended-Upgrade::Package-Blacklist {{\n{rows}}};\n"
    return (File(path=APT, content=text, validate=("apt-config", "-c", "{}", "dump")), hold_resource)


def expression(pattern: str) -> str:
    """Return a package name, or a prefix such as `slurm*`, as a regular expression for unattended-upgrades.

    As that matches from the start of a name, the expression of a complete name ends with `$`.
    """
    open_end = pattern.endswith("*")
    return re.escape(pattern.rstrip("*")).replace("\\-", "-") + ("" if open_end else "$")
