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


def text(host: Host, given: Json, notes: List[str]) -> Optional[str]:
    """Network, device, port, interface and MTU in a line; `-` for an interface that is not known."""
    addresses = interfaces(notes)
    here = ports(host, addresses)
    lines = []
    for network in given["networks"]:
        for one in of_network(here, network, notes):
            link = next((name for name in one.interfaces if addresses.get(name)), "")
            link = link or next(iter(one.interfaces), "-")
            lines.append(f"{network['name']} {one.device} {one.number} {link} {network['mtu']}\n")
    if given["driver"] != "inbox":
        look_modules(host, given["driver"], notes)
    if given["mpi"]:
        look_pmix(host, notes)
    return "# NETWORK DEVICE PORT INTERFACE MTU\n" + "".join(lines)


def look_modules(host: Host, driver: str, notes: List[str]) -> None:
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
    for place in BUILT:
        for _path, _folders, files in os.walk(host.at(f"/lib/modules/{kernel}/{place}")):
            if any(name.startswith("mlx5_core.ko") for name in files):
                return True
    return False


def look_pmix(host: Host, notes: List[str]) -> None:
    """`srun --mpi=pmix` needs a plugin of Slurm's; where its packages were built without, nothing else helps."""
    plugins = [name for place in LIBRARIES for below in SLURM for name in folder(host, f"{place}/{below}")]
    slurm = any(os.path.exists(host.at(f"{place}/srun")) for place in ("/usr/bin", "/usr/local/bin"))
    if slurm and not any(name.startswith("mpi_pmix") and name.endswith(".so") for name in plugins):
        notes.append(
            "Slurm has no plugin for PMIx here (mpi_pmix*.so): `srun --mpi=pmix` is refused. Slurm's own packages "
            "leave it out since 23.11 unless they are built with it"
        )


def folder(host: Host, path: str) -> List[str]:
    """What lies there, if anything."""
    try:
        return os.listdir(host.at(path))
    except OSError:
        return []
