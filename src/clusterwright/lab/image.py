"""The node images: a Debian root shared by all hosts of all labs, one per release, built once by mmdebstrap."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path

from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab.state import locked
from clusterwright.platforms import platform

IMAGES = Path("/var/cache/clusterwright/images")
MACHINE_SUITE = (
    "bookworm"  # the suite to search for in a machine's own sources; other suites are on the same mirrors
)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SPACE_BYTES = 1_400_000_000  # an image is 950 MB; downloads and unpacking need 350 MB more temporarily

# Required by the roles of `provision` and by the checks; nothing is installed into a running host.
PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "openssh-server", "openssh-client", "sudo",
    "slurmd", "slurmctld", "slurmdbd", "slurm-client", "libpam-slurm-adopt", "munge", "libpmix-dev", "mariadb-server",
    "chrony", "prometheus-node-exporter", "nftables", "firewalld", "iproute2", "iputils-ping",
    "prometheus", "prometheus-alertmanager",
    "python3", "tzdata", "procps", "kmod", "util-linux", "less", "netbase",
    "iperf3", "fio", "crun", "environment-modules", "python3-venv",
    "nfs-common", "nfs-ganesha", "nfs-ganesha-vfs", "libnfs-utils", "xfsprogs",
    "rdma-core", "ibverbs-providers", "ibverbs-utils", "infiniband-diags", "perftest", "opensm", "openmpi-bin",
    "ucx-utils",
)  # fmt: skip

# Services are off until `apply` enables them; files that differ between hosts are written when a host is created.
# Without logind and the password agents a host holds 4 inotify instances instead of 7: the kernel gives root 128 in
# all. The database is recreated with a small log: a host that writes to it first copies its files.
CUSTOMIZE = """set -e
systemctl --root="$1" --quiet disable slurmd slurmctld slurmdbd mariadb munge chrony firewalld \\
  prometheus-node-exporter prometheus prometheus-alertmanager e2scrub_reap getty@ systemd-pstore opensm \\
  nfs-ganesha rpcbind.service rpcbind.socket \\
  nfs-client.target 2>/dev/null
systemctl --root="$1" --quiet mask console-getty.service systemd-logind.service \\
  systemd-ask-password-console.path systemd-ask-password-wall.path apt-daily.timer apt-daily-upgrade.timer \\
  dpkg-db-backup.timer e2scrub_all.timer fstrim.timer systemd-update-utmp-runlevel.service 2>/dev/null
rm -rf "$1"/var/lib/mysql
chroot "$1" mariadb-install-db --user=mysql --skip-test-db --skip-name-resolve --force \\
  --innodb-log-file-size=4M >/dev/null
rm -f "$1"/etc/ssh/ssh_host_* "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/etc/munge/munge.key
rm -f "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/apt/auth.conf "$1"/var/log/apt/* "$1"/var/log/dpkg.log
: > "$1"/etc/machine-id
: > "$1"/etc/resolv.conf
chmod 0711 "$1"/root
"""
_EXCLUDED_PATHS = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")


def digest(system: str) -> str:
    """Return the ID of the node image for that `os`: a hash of its packages, customization and excluded paths."""
    recipe = json.dumps([platform(system).lab_suite, PACKAGES, CUSTOMIZE, _EXCLUDED_PATHS])
    return hashlib.sha256(recipe.encode()).hexdigest()[:16]


def sources(texts: dict[str, str], suite: str) -> tuple[str, ...]:
    """Return apt entries of that suite from this machine's mirrors for Debian 12, one line each.

    `texts` are apt's source files by name. Empty on a machine of another kind, such as Ubuntu: mmdebstrap then uses
    Debian's own mirrors. Entries of other suites and of third parties are left out: only those whose suite is
    bookworm and whose components contain `main` are used.
    """
    entries: list[str] = []
    for name, text in sorted(texts.items()):
        entries += _deb822(text) if name.endswith(".sources") else _list_format(text)
    return tuple(dict.fromkeys(line.replace(f" {MACHINE_SUITE}", f" {suite}") for line in entries))


def _deb822(text: str) -> list[str]:
    lines: list[str] = []
    content = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", content):
        fields = {key.lower(): value.split() for key, value in re.findall(r"(?m)^([\w-]+):\s*(.*)$", stanza)}
        if "main" not in fields.get("components", []) or fields.get("enabled", ["yes"])[0] == "no":
            continue
        signed = " ".join(fields.get("signed-by", [KEYRING]))
        signed = signed if signed.startswith("/") else KEYRING
        for address in fields.get("uris", []):
            for suite in fields.get("suites", []):
                if suite.split("-")[0] == MACHINE_SUITE:
                    lines.append(f"deb [signed-by={signed}] {address} {suite} main")
    return lines


def _list_format(text: str) -> list[str]:
    pattern = re.compile(r"(?m)^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$")
    return [
        f"deb [signed-by={KEYRING}] {address} {suite} main"
        for address, suite, components in pattern.findall(text)
        if suite.split("-")[0] == MACHINE_SUITE and "main" in components.split()
    ]


def ready(system: str, images: Path = IMAGES) -> Path | None:
    """Return the path of the node image for that `os`; None if it is not built."""
    path = images / digest(system)
    return path if path.is_dir() else None


def build(system: str, log: Callable[[str], None], *, images: Path = IMAGES) -> Path:
    """Return the folder of the lab's node image for a distribution; build it with mmdebstrap if it is missing.

    An interrupted build leaves nothing behind.

    Raises:
        WrightError: There is no space, or mmdebstrap failed; has its output.
    """
    if path := ready(system, images):
        return path
    with locked(images):
        for stale in images.glob(".building-*"):  # no other process builds while this one holds the lock
            shutil.rmtree(stale, ignore_errors=True)
        if path := ready(system, images):
            return path
        check_space(images)
        scratch = Path(tempfile.mkdtemp(prefix=".building-", dir=images))
        try:
            log(
                _(
                    "node image: {system} with {count} packages, built once (about a minute)",
                    system=system,
                    count=len(PACKAGES),
                )
            )
            _mmdebstrap(platform(system).lab_suite, scratch, log)
            (scratch / "root").rename(images / digest(system))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return images / digest(system)


def check_space(folder: Path) -> None:
    """Raise WrightError if the disk of the folder has too little space for a node image.

    Raises:
        WrightError: There is not; has the free space.
    """
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free < SPACE_BYTES:
        raise WrightError.from_code(
            "no-space",
            _(
                "the node image requires {space_bytes} MB in {folder}; {free} MB are free",
                space_bytes=SPACE_BYTES // 10**6,
                folder=folder,
                free=free // 10**6,
            ),
            _("free space on that file system; older images in the folder may be removed"),
        )


def _mmdebstrap(suite: str, scratch: Path, log: Callable[[str], None]) -> None:
    (scratch / "apt.conf").write_text(_apt_settings())
    (scratch / "customize").write_text(CUSTOMIZE)
    argv = [
        "setpriv", "--pdeathsig", "TERM",  # it ends and cleans up when its parent is killed
        "mmdebstrap", "--mode=root", "--variant=minbase", "--format=directory",
        f"--include={','.join(PACKAGES)}", f"--aptopt={scratch}/apt.conf",
        *(f"--dpkgopt=path-exclude={path}" for path in _EXCLUDED_PATHS),
        f'--customize-hook=sh {scratch}/customize "$1"',
        suite, str(scratch / "root"), *sources(_source_files(), suite),
    ]  # fmt: skip
    process = subprocess.Popen(
        argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    last: deque[str] = deque(maxlen=15)
    try:
        for line in process.stderr or ():
            last.append(line)
            if line.startswith("I: "):
                log(f"  {line[3:].strip()}")
        process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if process.returncode:
        raise WrightError.from_code(
            "lab-image",
            _(
                "mmdebstrap exited with code {returncode}:\n{last}",
                returncode=process.returncode,
                last="".join(last).rstrip(),
            ),
            _(
                "make `apt-get update` work on this machine, then run the command again; the "
                "incomplete image has been removed"
            ),
        )


def _apt_settings() -> str:
    """Return this machine's apt settings for mirrors (proxies, certificates); the finished image lacks them."""
    settings = run(("apt-config", "dump", "Acquire")).out
    return (
        f'{settings}\nDir::Etc::netrc "/etc/apt/auth.conf";\nDir::Etc::netrcparts "/etc/apt/auth.conf.d/";\n'
    )


def _source_files() -> dict[str, str]:
    paths = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    source_paths = [path for path in paths if path.suffix in (".list", ".sources") and path.is_file()]
    return {str(path): path.read_text(errors="replace") for path in source_paths}
