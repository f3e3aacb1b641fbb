"""The node images: a Debian root that all hosts of all labs read, one a release, made once by mmdebstrap and kept."""

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
    "bookworm"  # what a machine's own sources are searched for; other suites lie on the same mirrors
)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SPACE_BYTES = 1_400_000_000  # an image is 950 MB; downloads and unpacking need 350 MB more for a while

# What the roles of `build` and the checks need; nothing is installed into a running host.
PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "openssh-server", "openssh-client", "sudo",
    "slurmd", "slurmctld", "slurmdbd", "slurm-client", "munge", "libpmix-dev", "mariadb-server",
    "chrony", "prometheus-node-exporter", "nftables", "firewalld", "iproute2", "iputils-ping",
    "prometheus", "prometheus-alertmanager",
    "python3", "tzdata", "procps", "kmod", "util-linux", "less", "netbase",
    "iperf3", "fio", "crun", "environment-modules", "python3-venv",
    "nfs-common", "nfs-ganesha", "nfs-ganesha-vfs", "libnfs-utils", "xfsprogs",
    "rdma-core", "ibverbs-providers", "ibverbs-utils", "infiniband-diags", "perftest", "opensm", "openmpi-bin",
    "ucx-utils",
)  # fmt: skip

# Services are off until `apply` wants them; what makes a host one of many is written when it is made. Without
# logind and the password agents a host holds 4 inotify instances instead of 7: the kernel gives root 128 in all.
# The database is made anew with a small log: a host that writes to it copies its files first.
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
    """Names the image of that `os`: any change of what is in it gives another."""
    recipe = json.dumps([platform(system).lab_suite, PACKAGES, CUSTOMIZE, _EXCLUDED_PATHS])
    return hashlib.sha256(recipe.encode()).hexdigest()[:16]


def sources(texts: dict[str, str], suite: str) -> tuple[str, ...]:
    """That suite from where this machine's apt finds Debian 12, in one-line entries.

    None on a machine of another kind, such as Ubuntu: mmdebstrap then takes Debian's own mirrors by itself.
    Entries of other suites, and of third parties, are left out: only those whose suite is bookworm and whose
    components hold `main`.
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
    """The image of that `os`, if it has been made."""
    path = images / digest(system)
    return path if path.is_dir() else None


def build(system: str, log: Callable[[str], None], *, images: Path = IMAGES) -> Path:
    """The image of that `os`, made now if it is not there; a build that is cut short leaves nothing behind.

    Raises:
        WrightError: no space, or mmdebstrap's own words.
    """
    if path := ready(system, images):
        return path
    with locked(images):
        for stale in images.glob(".building-*"):  # nobody else builds while we hold the lock
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
    """There is room for the image.

    Raises:
        WrightError: there is not; says how much there is.
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
        "setpriv", "--pdeathsig", "TERM",  # it ends, and cleans up, when we are killed
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
    """How this machine's apt reaches its mirrors (proxies, certificates); taken out of the image again."""
    settings = run(("apt-config", "dump", "Acquire")).out
    return (
        f'{settings}\nDir::Etc::netrc "/etc/apt/auth.conf";\nDir::Etc::netrcparts "/etc/apt/auth.conf.d/";\n'
    )


def _source_files() -> dict[str, str]:
    paths = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    source_paths = [path for path in paths if path.suffix in (".list", ".sources") and path.is_file()]
    return {str(path): path.read_text(errors="replace") for path in source_paths}
