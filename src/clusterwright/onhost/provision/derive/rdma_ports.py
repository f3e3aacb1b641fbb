"""/etc/clusterwright/rdma-ports: which port is on which network, for the script at boot and for the checks.

Standard library only, Python 3.6 or later.
"""

import os
from typing import List, Optional

from clusterwright.onhost.provision.derive.rdma import interfaces, of_network, ports
from clusterwright.onhost.provision.host import Host, Json

# Where the packages of OFED and of DOCA put kernel modules: by DKMS, by rpm, and as links to another kernel's.
BUILT = ("updates", "extra", "weak-updates")
LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu")
SLURM = ("slurm", "slurm-wlm")  # Slurm's own folder of plugins, and Debian's


def text(host: Host, params: Json, notes: List[str]) -> Optional[str]:
    """Network, device, port, interface and MTU in a line; `-` for an interface that is not known."""
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


def check_modules(host: Host, driver: str, notes: List[str]) -> None:
    """Modules are built for one kernel; with another the kernel's own are loaded, or none."""
    running = os.uname().release
    kernels = [name for name in sorted(folder(host, "/lib/modules")) if has_module(host, name)]
    if running not in kernels:
        for_which = f"for {', '.join(kernels)}" if kernels else "for no kernel yet"
        notes.append(
            f"the modules of {driver} are built {for_which}, and {running} runs here: reboot into that kernel, or "
            f"build them for this one (`dkms autoinstall -k {running}`, or the packages of that kernel)"
        )


def has_module(host: Host, kernel: str) -> bool:
    """True when the driver's own mlx5_core lies there for that kernel."""
    for subdir in BUILT:
        for _path, _folders, files in os.walk(host.resolve_path(f"/lib/modules/{kernel}/{subdir}")):
            if any(name.startswith("mlx5_core.ko") for name in files):
                return True
    return False


def check_pmix(host: Host, notes: List[str]) -> None:
    """`srun --mpi=pmix` needs a plugin of Slurm's; where its packages were built without, nothing else helps."""
    plugins = [name for prefix in LIBRARIES for below in SLURM for name in folder(host, f"{prefix}/{below}")]
    slurm = any(
        os.path.exists(host.resolve_path(f"{bin_dir}/srun")) for bin_dir in ("/usr/bin", "/usr/local/bin")
    )
    if slurm and not any(name.startswith("mpi_pmix") and name.endswith(".so") for name in plugins):
        notes.append(
            "Slurm has no plugin for PMIx here (mpi_pmix*.so): `srun --mpi=pmix` is refused. Slurm's own packages "
            "leave it out since 23.11 unless they are built with it"
        )


def folder(host: Host, path: str) -> List[str]:
    """What lies there, if anything."""
    try:
        return os.listdir(host.resolve_path(path))
    except OSError:
        return []
