"""What Slurm is told that this host has, against what is there; a difference is a note, nothing is changed.

Standard library only, Python 3.6 or later. slurmd itself says it later, and then the host is drained already.
"""

import os

from clusterwright.onhost.provision.host import Host, Json

MIB = 2**20


def look_hardware(host: Host, resource: Json) -> None:
    """A note for device files that are missing, and one for memory that is."""
    devices = resource["devices"]
    missing = [path for path in devices if not os.path.exists(host.at(path))]
    if missing:
        host.notes.append(
            f"{len(devices) - len(missing)} of {len(devices)} GPU device files are there, {', '.join(missing)} "
            f"missing: Slurm drains a host with fewer GPUs than its configuration names; `nvidia-smi` and "
            f"`dmesg` say why, or correct nodes.{resource['group']}.gpus"
        )
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB  # as slurmd reads it
    if found < resource["memory_mib"]:
        host.notes.append(
            f"the kernel has {found} MiB, and Slurm is told {resource['memory_mib']} MiB: it drains a host with "
            f"less memory than its configuration names; see `dmidecode -t memory`, or correct "
            f"nodes.{resource['group']}.memory"
        )
