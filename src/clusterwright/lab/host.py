"""One virtual host: its disk, its root, the files written before its first boot, and its boot command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import kernel_log
from clusterwright.lab.gpus import state as gpu_state
from clusterwright.lab.gpus.state import AT_BOOT
from clusterwright.lab.layout import LabHost
from clusterwright.lab.nfs import client
from clusterwright.lab.rdma import state as rdma_state
from clusterwright.lab.state import LabState

DISK_BYTES = 4 * 2**30  # sparse: for logs and small checkpoints; small enough for `fill-disk`
GPU_MAJOR = (
    120  # "120-127 char LOCAL/EXPERIMENTAL USE" (Linux, admin-guide/devices.txt): no driver answers there
)
SWITCH = "/run/clusterwright-lab/power"  # the folder of the lab's power switch on the control host
UNIT = "clusterwright-lab.service"
SCRIPT = "/usr/local/lib/clusterwright-lab/boot"


def boot_script(devices: Sequence[str], *, rdma: bool = False) -> str:
    """Return the shell script of each early boot of a host: GPU device files, writable cgroups and sysctls.

    Slurm's cgroup plugins need the controllers; systemd-nspawn mounts them read-only where they are v1 (remounting
    without `bind` is refused as busy). /proc/sys/net is the host's own, as its network is. The network part of /sys
    is the machine's, because nspawn mounts it before it enters the namespace: the host's own is mounted over it.
    """
    nodes = "".join(
        f"[ -e {path} ] || mknod -m 666 {path} c {GPU_MAJOR} {i}\n" for i, path in enumerate(devices)
    )
    return f"""#!/bin/sh
# Made by clusterwright for a virtual host.
for tree in /sys/fs/cgroup /sys/fs/cgroup/*; do
  mountpoint -q "$tree" && mount -o remount,bind,rw "$tree"
done
mount --bind /proc/sys/net /proc/sys/net && mount -o remount,bind,rw /proc/sys/net
{rdma_state.AT_BOOT if rdma else ""}own=/run/clusterwright-sys
mkdir -p "$own" && mount -t sysfs -o ro sysfs "$own"
for part in class/net devices/virtual/net; do mount --bind "$own/$part" "/sys/$part"; done
umount "$own" && rmdir "$own"
{nodes}{AT_BOOT if devices else ""}{kernel_log.AT_BOOT}exit 0
"""


def boot_unit() -> str:
    """Return the systemd unit that runs the boot script before anything that needs it, except the journal."""
    return f"""# Made by clusterwright for a virtual host.
[Unit]
Description=Simulated GPUs and writable control groups
DefaultDependencies=no
After=systemd-journald.service
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={SCRIPT}
"""


def files(state: LabState, host: LabHost) -> dict[str, tuple[str, int]]:
    """Return the files written into a host before its first boot: text and mode by path."""
    keys = state.folder / "keys"
    return {
        "etc/hostname": (f"{host.name}\n", 0o644),
        "etc/hosts": (f"127.0.0.1 localhost\n{host.address} {host.name}\n", 0o644),
        "etc/machine-id": (f"{host.machine_id}\n", 0o444),
        "etc/ssh/ssh_host_ed25519_key": ((keys / host.name).read_text(), 0o600),
        "etc/ssh/ssh_host_ed25519_key.pub": ((keys / f"{host.name}.pub").read_text(), 0o644),
        "root/.ssh/authorized_keys": ((keys / "user.pub").read_text(), 0o600),
        "usr/local/bin/dmesg": (kernel_log.DMESG, 0o755),
        SCRIPT.lstrip("/"): (boot_script(host.devices, rdma=host.rdma is not None), 0o755),
        f"etc/systemd/system/{UNIT}": (boot_unit(), 0o644),
    }


def make(state: LabState, host: LabHost) -> None:
    """Create a lab host's disk image, and mount it over the node image as its root, with its name and keys."""
    folder = state.host_folder(host.name)
    for name in ("disk", "root"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with (folder / "disk.img").open("wb") as disk:
        disk.truncate(DISK_BYTES)
    # no journal: the disk is removed with the lab; no reserve: a full disk is full for root as well
    _run_checked(
        "mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", "-E", "nodiscard", str(folder / "disk.img")
    )
    _run_checked("mount", "-o", "loop,noatime", str(folder / "disk.img"), str(folder / "disk"))
    for name in ("upper", "work"):
        (folder / "disk" / name).mkdir(exist_ok=True)
    layers = f"lowerdir={state.image},upperdir={folder}/disk/upper,workdir={folder}/disk/work"
    _run_checked("mount", "-t", "overlay", "-o", layers, "overlay", str(folder / "root"))
    for path in host.served:
        _served(state, host, path).mkdir(parents=True, exist_ok=True)
    for path, (text, mode) in files(state, host).items():
        write_file_atomic(folder / "root" / path, text, mode=mode)
    unit_links = folder / "root/etc/systemd/system/sysinit.target.wants"
    unit_links.mkdir(exist_ok=True)
    (unit_links / UNIT).symlink_to(f"../{UNIT}")


def nspawn_argv(state: LabState, host: LabHost) -> tuple[str, ...]:
    """Return the command that boots the host; systemd need not run on the machine."""
    places = {
        gpu_folder(state, host): gpu_state.INSIDE,
        rdma_folder(state, host): rdma_state.INSIDE,
        power_folder(state, host): SWITCH,
    }
    devices = (f"--bind={source}:{inside}" for source, inside in places.items() if source.exists())
    return (
        "systemd-nspawn",
        "--quiet",
        "--boot",
        "--register=no",
        "--keep-unit",
        "--settings=no",
        f"--machine={machine_name(state.name, host.name)}",
        f"--hostname={host.name}",
        f"--directory={state.host_folder(host.name) / 'root'}",
        f"--network-namespace-path=/run/netns/{host.namespace}",
        # for its own network only; nspawn drops it if the namespace existed before
        "--capability=CAP_NET_ADMIN",
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        "--console=read-only",
        f"--bind={kernel_pipe(state, host)}:{kernel_log.INSIDE}",
        *devices,
        *_for_nfs(state, host),
        *state.binds,
    )


def _served(state: LabState, host: LabHost, path: str) -> Path:
    """Return the folder behind an NFS export: an overlay, as the host's root is, has no file handles."""
    return state.host_folder(host.name) / "disk" / "served" / path.strip("/").replace("/", "-")


def _for_nfs(state: LabState, host: LabHost) -> list[str]:
    """Return systemd-nspawn's arguments for NFS: a server opens files by handle, a client needs FUSE.

    nspawn blocks both otherwise. Empty for a host without NFS.
    """
    arguments = [f"--bind={_served(state, host, path)}:{path}" for path in host.served]
    arguments += ["--system-call-filter=open_by_handle_at"] if host.served else []
    return arguments + ([f"--bind={client.DEVICE}"] if host.mounts_nfs and client.DEVICE.exists() else [])


def gpu_folder(state: LabState, host: LabHost) -> Path:
    """Return the folder of the host's GPU state; it does not exist without simulated GPUs."""
    return state.host_folder(host.name) / "gpus"


def rdma_folder(state: LabState, host: LabHost) -> Path:
    """Return the path of the folder with a lab host's simulated RDMA ports; it does not exist without ports."""
    return state.host_folder(host.name) / "infiniband"


def power_folder(state: LabState, host: LabHost) -> Path:
    """Return the folder of the power switch's socket; only the control host has it."""
    return state.host_folder(host.name) / "power"


def kernel_pipe(state: LabState, host: LabHost) -> Path:
    """Return the path of the pipe for the host's kernel log."""
    return state.host_folder(host.name) / "kmsg"


def machine_name(lab: str, host: str) -> str:
    """Return the machine name for systemd-nspawn; at most 64 characters (HOST_NAME_MAX)."""
    return f"{lab[:24]}-{host}"[:64].rstrip("-")


def _run_checked(*argv: str) -> None:
    result = run(argv)
    if not result.ok:
        raise WrightError.from_code(
            "lab-host",
            _("`{argv}` failed: {last_lines}", argv=" ".join(argv), last_lines=result.last_lines()),
            _("remove the rest of the lab with `wright lab down`, fix the cause, then run the command again"),
        )
