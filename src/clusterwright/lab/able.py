"""Check whether this machine can run virtual hosts; if not, report what is missing and how to get it."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from clusterwright.edge.processes import run
from clusterwright.errors import Finding
from clusterwright.i18n import _
from clusterwright.platforms import platforms

# program: its Debian or Ubuntu package
PROGRAMS = {
    "mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container", "ip": "iproute2", "tc": "iproute2",
    "mount": "mount", "umount": "mount", "mkfs.ext4": "e2fsprogs", "ssh": "openssh-client",
    "ssh-keygen": "openssh-client", "apt-config": "apt", "setpriv": "util-linux",
}  # fmt: skip
KEYRING_PACKAGE = "debian-archive-keyring"


@dataclass(frozen=True, slots=True)
class LabMachine:
    """The properties of a machine that a lab depends on."""

    system: str
    root: bool
    distribution: str
    missing_programs: tuple[str, ...]
    has_keyring: bool
    overlay: bool
    loop: bool
    cgroups: bool
    namespaces: bool


def judge(machine: LabMachine) -> tuple[Finding, ...]:
    """Return a finding for everything that prevents virtual hosts on the machine: system, rights, programs or kernel.

    Empty if there is nothing.
    """
    if machine.system != "linux":
        return (
            Finding(
                "lab-needs-linux",
                _("virtual hosts require Linux; this machine runs {system}", system=machine.system),
                _("use a Linux machine"),
            ),
        )
    rules = (_root, _distribution, _programs, _kernel)
    return tuple(finding for rule in rules for finding in rule(machine))


def _root(machine: LabMachine) -> list[Finding]:
    if machine.root:
        return []
    message = _("creating virtual hosts requires root: for namespaces, mounts and bridges")
    return [Finding("lab-needs-root", message, _("run the same command with sudo, or as root"))]


def _distribution(machine: LabMachine) -> list[Finding]:
    if machine.distribution in _with_apt():
        return []
    message = _(
        "the node image is built with apt on Debian or Ubuntu; this machine runs `{distribution}`",
        distribution=machine.distribution,
    )
    return [
        Finding(
            "lab-needs-debian", message, _("use a Debian 12 or Ubuntu machine; a virtual machine is enough")
        )
    ]


def _programs(machine: LabMachine) -> list[Finding]:
    packages = {PROGRAMS[program] for program in machine.missing_programs}
    if not machine.has_keyring:
        packages.add(KEYRING_PACKAGE)
    if not packages:
        return []
    names = ", ".join(
        (*machine.missing_programs, *([] if machine.has_keyring else [_("Debian's archive keyring")]))
    )
    return [
        Finding(
            "lab-missing-program",
            _("not installed, or not on the PATH: {names}", names=names),
            _("apt-get install {packages}", packages=" ".join(sorted(packages))),
        )
    ]


def _kernel(machine: LabMachine) -> list[Finding]:
    parts = (
        (machine.overlay, _("overlay file systems"), _("load the module: modprobe overlay")),
        (
            machine.loop,
            _("loop devices (/dev/loop-control)"),
            _("load the module: modprobe loop; in a container, pass /dev/loop*"),
        ),
        (
            machine.cgroups,
            _("writable control groups in /sys/fs/cgroup"),
            _("if this machine is a container, start the container with --privileged"),
        ),
        (
            machine.namespaces or not machine.root,
            _("Linux namespaces and mounts"),
            _("if this machine is a container, start the container with --privileged"),
        ),
    )
    return [
        Finding("lab-missing-kernel-part", _("this kernel does not provide {part}", part=part), fix)
        for available, part, fix in parts
        if not available
    ]


def able() -> tuple[Finding, ...]:
    """Return a finding for everything that prevents virtual hosts on this machine; empty if there is nothing."""
    return judge(probe())


def probe() -> LabMachine:
    """Return the properties of this machine that decide whether it can run a lab."""
    filesystems = _text("/proc/filesystems")
    trees = [
        line.split()[1] for line in _text("/proc/mounts").splitlines() if line.split()[2].startswith("cgroup")
    ]
    return LabMachine(
        system=sys.platform,
        root=os.geteuid() == 0,
        distribution=distribution_of(_text("/etc/os-release")),
        missing_programs=tuple(name for name in PROGRAMS if shutil.which(name, path=_path()) is None),
        has_keyring=Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists(),
        overlay="\toverlay\n" in filesystems or Path("/sys/module/overlay").exists() or _module("overlay"),
        loop=Path("/dev/loop-control").exists(),
        cgroups=bool(trees) and all(os.access(tree, os.W_OK) for tree in trees)
        if os.geteuid() == 0
        else bool(trees),
        namespaces=_namespaces(),
    )


def distribution_of(os_release: str) -> str:
    """Return the first ID or ID_LIKE of an os-release text that is a distribution with apt; else the ID."""
    pairs = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    ids = [pairs.get("ID", "unknown").strip('"'), *pairs.get("ID_LIKE", "").strip('"').split()]
    return next((name for name in ids if name in _with_apt()), ids[0])


def _with_apt() -> set[str]:
    return {platform.os_release_id for platform in platforms() if platform.package_manager == "apt"}


def _path() -> str:
    """Return PATH, for an ordinary user with /usr/sbin and /sbin, which Debian leaves out of a user's PATH."""
    path = os.environ.get("PATH", "")
    return path if os.geteuid() == 0 else f"{path}:/usr/sbin:/sbin"


def _module(name: str) -> bool:
    return bool(list(Path("/lib/modules", os.uname().release).rglob(f"{name}.ko*")))


def _namespaces() -> bool:
    """Return True if this process can create namespaces. Only an attempt shows it: root may be root of a container."""
    return shutil.which("unshare") is not None and run(("unshare", "--net", "--mount", "true")).ok


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
