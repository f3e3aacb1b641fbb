"""The programs around jobs: shell texts that are the same everywhere, and what the cluster file declares for a host."""

from __future__ import annotations

from pathlib import Path

from clusterwright.spec.cluster import Cluster, Host
from clusterwright.spec.storage import Local

FOLDER = "/etc/slurm/clusterwright"
PROGRAMS = ("prolog", "epilog", "health", "unkillable", "task_prolog")
_TEXTS = Path(__file__).with_name("hooks")
_LEAST_KIB = 256 * 1024  # ours: below it slurmd, munge and the journal begin to fail one by one


def hook_texts(header: str) -> dict[str, str]:
    """Every text that does not depend on the host, by its whole path."""
    programs = {name: _with_header(name, header) for name in PROGRAMS}
    shared = {"common": _with_header("common", header), "xids": _with_header("xids", header)}
    return {f"{FOLDER}/{name}": text for name, text in (programs | shared).items()}


def declared(cluster: Cluster, host: Host, header: str) -> str:
    """What the file says that the host has, as shell variables; quoted, though the file allows no such letters."""
    gpus, scratch = host.group.gpus, scratch_of(host)
    mounts = [folder.path for folder in cluster.storage.values() if not isinstance(folder, Local)]
    if cluster.lab is None:
        mounts += [disk.mount for disk in host.group.disks if disk.mount]
    rows = {
        "GPU_FILES": " ".join(gpus.device_files()) if gpus else "",
        "GPU_DRIVER": "1" if gpus and cluster.lab is None else "0",
        "SCRATCH": scratch,
        "SCRATCH_MOUNTED": "1" if scratch and cluster.lab is None else "0",
        "MOUNTS": " ".join(dict.fromkeys(mounts)),
        "LOCAL": " ".join(dict.fromkeys(["/", "/tmp", "/var"])),  # noqa: S108 (looked at, not written to)
        "LEAST_KIB": str(_LEAST_KIB),
        "SWAP": "1" if cluster.system.swap else "0",
        "FIRST_USER": "1000",  # below are the system's own accounts (Debian policy 9.2.2, RHEL's login.defs)
    } | _PLACES
    return header + "".join(f"{name}='{value}'\n" for name, value in rows.items())


def scratch_of(host: Host) -> str:
    """Where the host's first local disk is mounted, if it has one."""
    return next((disk.mount for disk in host.group.disks if disk.mount), "")


_PLACES = {
    "RUN": "/run/clusterwright/jobs",
    "SOUND": "/run/clusterwright/sound",
    "KEPT": "/var/lib/clusterwright/hooks",
    "NVIDIA_SMI": "/usr/bin/nvidia-smi",
    "DRIVER_FILES": "/proc/driver/nvidia/gpus",
    "DMESG": "dmesg",
    "MOUNT_TABLE": "/proc/self/mounts",
    "SWAP_TABLE": "/proc/swaps",
}


def _with_header(name: str, header: str) -> str:
    text = (_TEXTS / name).read_text()
    if not text.startswith("#!"):
        return header + text
    first, _, rest = text.partition("\n")
    return f"{first}\n{header}{rest}"
