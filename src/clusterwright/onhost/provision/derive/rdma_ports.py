"""Derives /etc/clusterwright/rdma-ports: the network of each RDMA port, for the boot script and the checks.

Standard library only, Python 3.6 or later.
"""

import os
from typing import List, Optional

from clusterwright.onhost.provision.derive.rdma import interfaces, of_network, ports
from clusterwright.onhost.provision.host import Json, LocalHost

# Module folders of OFED and DOCA packages: DKMS, rpm, and links to another kernel's modules.
BUILT = ("updates", "extra", "weak-updates")
LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu")
SLURM = ("slurm", "slurm-wlm")  # plugin folders of Slurm's own packages and of Debian's


def text(host: LocalHost, params: Json, notes: List[str]) -> Optional[str]:
    """Return the file of this host's RDMA ports, one line each: network, device, port, interface (`-`: unknown), MTU.

    Missing ports, and modules of another driver, are appended to `notes`. Never None.
    """
    addresses = interfaces(notes)
    all_ports = ports(host, addresses)
    lines = []
    for network in params["networks"]:
        for rdma_port in of_network(all_ports, network, notes):
            link = next((name for name in rdma_port.interfaces if addresses.get(name)), "")
            link = link or next(iter(rdma_port.interfaces), "-")
            lines.append(f"{network['name']} {rdma_port.device} {rdma_port.number} {link} {network['mtu']}\n")
    if params["driver"] != "inbox":
        check_modules(host, params["driver"], notes)
    if params["mpi"]:
        check_pmix(host, notes)
    return "# NETWORK DEVICE PORT INTERFACE MTU\n" + "".join(lines)


def check_modules(host: LocalHost, driver: str, notes: List[str]) -> None:
    """Add a note if the driver's modules are not built for the running kernel."""
    running = os.uname().release
    kernels = [name for name in sorted(folder(host, "/lib/modules")) if has_module(host, name)]
    if running not in kernels:
        for_which = f"for {', '.join(kernels)}" if kernels else "for no kernel yet"
        notes.append(
            f"the modules of {driver} are built {for_which}, but {running} is running. Reboot into that kernel, or "
            f"build them for this one (`dkms autoinstall -k {running}`, or the packages of that kernel)"
        )


def has_module(host: LocalHost, kernel: str) -> bool:
    """Return True if mlx5_core of the OFED or DOCA driver, not the kernel's own, is built for that kernel."""
    for subdir in BUILT:
        for _path, _folders, files in os.walk(host.resolve_path(f"/lib/modules/{kernel}/{subdir}")):
            if any(name.startswith("mlx5_core.ko") for name in files):
                return True
    return False


def check_pmix(host: LocalHost, notes: List[str]) -> None:
    """Add a note if Slurm is installed without the PMIx plugin, which `srun --mpi=pmix` needs."""
    plugins = [name for prefix in LIBRARIES for below in SLURM for name in folder(host, f"{prefix}/{below}")]
    slurm = any(
        os.path.exists(host.resolve_path(f"{bin_dir}/srun")) for bin_dir in ("/usr/bin", "/usr/local/bin")
    )
    if slurm and not any(name.startswith("mpi_pmix") and name.endswith(".so") for name in plugins):
        notes.append(
            "Slurm has no PMIx plugin on this host (mpi_pmix*.so), so `srun --mpi=pmix` fails. Slurm's own packages "
            "lack it since 23.11 unless they are built with PMIx"
        )


def folder(host: LocalHost, path: str) -> List[str]:
    """Return the names in a folder; an empty list if it cannot be read."""
    try:
        return os.listdir(host.resolve_path(path))
    except OSError:
        return []
