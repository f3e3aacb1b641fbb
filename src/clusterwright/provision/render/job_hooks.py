"""Prolog, epilog, health program and the like: shell texts equal on all hosts, and the variables of each host."""

from __future__ import annotations

from pathlib import Path

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.networks import NetworkName
from clusterwright.config.storage import Local
from clusterwright.provision.render import isolation
from clusterwright.provision.render.caches import local_folder

FOLDER = "/etc/slurm/clusterwright"
PROGRAMS = ("prolog", "epilog", "health", "unkillable", "task_prolog", "isolate")
_SHARED = (
    "common",
    "probes",
    "gpus",
    "counters",
    "isolation",
    "leftovers",
    "share",
    "space",
    "xids",
    "xids.awk",
)
_TEXTS = Path(__file__).with_name("hooks")
_LAYER = {"infiniband": "InfiniBand", "roce": "Ethernet"}  # as the kernel calls it
_PROBE_S = 1  # ours: what a prolog waits for one probe at most; a job should not notice it
_CLOCK_OFF_S = (
    1.0  # as check/checks/clock_offset: further apart, lines of two hosts' logs cannot be put in order
)
_LEFTOVERS_S = 30  # ours: the driver needs seconds to release the memory of a killed process
# Whole messages: dmesg prints a newline in a name that a user chose, and what follows it, as lines of the log.
RING_BUFFER = "dd if=/dev/kmsg iflag=nonblock bs=8192 status=none"
_LEAST_KIB = 256 * 1024  # ours: below it slurmd, munge and the journal begin to fail one by one


def hook_texts(header: str) -> dict[str, str]:
    """Return the hook programs and the shell files that they share, by path; equal on all hosts."""
    programs = {name: _with_header(name, header) for name in PROGRAMS}
    shared = {name: _with_header(name, header) for name in _SHARED}
    return {f"{FOLDER}/{name}": text for name, text in (programs | shared).items()}


def declared(cluster: Cluster, host: Host, header: str) -> str:
    """Return a shell text that sets the variables of the hook programs on this host: GPUs, mounts, networks, limits."""
    gpus, scratch, networks = host.group.gpus, scratch_of(host), cluster.networks.named()
    compute = networks.get("compute") if "compute" in host.group.addresses else None
    layer = _LAYER.get(compute.kind, "") if compute else ""
    mounts = [folder.path for folder in cluster.storage.values() if not isinstance(folder, Local)]
    if cluster.lab is None:
        mounts += [disk.mount for disk in host.group.disks if disk.mount]
    rows = {
        "GPU_FILES": " ".join(gpus.device_files()) if gpus else "",
        "GPU_DRIVER": _driver(cluster) if gpus else "0",
        "SCRATCH": scratch,
        "CACHES": local_folder(cluster) or "",
        "SCRATCH_MOUNTED": "1" if scratch and cluster.lab is None else "0",
        "MOUNTS": " ".join(dict.fromkeys(mounts)),
        "NETWORKS": " ".join(f"{name}={networks[name].subnet}" for name in _with_addresses(cluster, host)),
        "RDMA_PORTS": str(compute.rails if compute and layer else 0),
        "RDMA_LAYER": layer,
        "LOCAL": " ".join(dict.fromkeys(["/", "/tmp", "/var"])),  # nosec B108 # noqa: S108 (looked at, not written to)
        "LEAST_KIB": str(_LEAST_KIB),
        "SWAP": "1" if cluster.system.swap else "0",
        "PROBE_S": str(_PROBE_S),
        "LEFTOVERS_S": str(_LEFTOVERS_S),
        "CLOCK_OFF_S": f"{_CLOCK_OFF_S:g}",
        "MOST_DRAINED": str(cluster.slurm.max_drained_percent),
        # A lab host is a container: its journal has the lines of its own /dev/kmsg, which is a pipe.
        "KERNEL_LOG": "journalctl -k -b -q --no-pager -o short-monotonic" if cluster.lab else RING_BUFFER,
        "FIRST_USER": str(isolation.FIRST_USER),
        "ISOLATION": isolation.RULES if isolation.is_isolated(cluster) else "",
        "RAILS": "1" if any(network.rails > 1 for network in networks.values()) else "",
    } | _PLACES
    return header + "".join(f"{name}='{value}'\n" for name, value in rows.items())


def _with_addresses(cluster: Cluster, host: Host) -> list[NetworkName]:
    """Return the networks on which the host must have an address before a job starts; not IPoIB, which is optional."""
    networks = cluster.networks.named()
    return [name for name in host.group.addresses if networks[name].kind != "infiniband"]


def _driver(cluster: Cluster) -> str:
    """Return `1`: the prolog requires an NVIDIA driver; in a lab `if-there`: only if the simulated one was built."""
    return "1" if cluster.lab is None else "if-there"


def scratch_of(host: Host) -> str:
    """Return the mount point of the host's first local disk; empty without one."""
    return next((disk.mount for disk in host.group.disks if disk.mount), "")


_PLACES = {
    "RUN": isolation.JOBS,
    "STATE": "/run/clusterwright",
    "KEPT": "/var/lib/clusterwright/hooks",
    "NVIDIA_SMI": "/usr/bin/nvidia-smi",
    "DRIVER_FILES": "/proc/driver/nvidia/gpus",
    "ADDRESSES": "ip -o -4 address",
    "LINKS": "/sys/class/net",
    "RDMA": "/sys/class/infiniband",
    "MOUNT_TABLE": "/proc/self/mounts",
    "SWAP_TABLE": "/proc/swaps",
    "VMSTAT": "/proc/vmstat",
}


def _with_header(name: str, header: str) -> str:
    text = (_TEXTS / name).read_text()
    if not text.startswith("#!"):
        return header + text
    shebang, _, body = text.partition("\n")
    return f"{shebang}\n{header}{body}"
