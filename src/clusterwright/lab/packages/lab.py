"""The package repository of one lab: built by `up`, served to its hosts' apt, removed with the lab."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.edge.files import write_file_atomic
from clusterwright.i18n import _
from clusterwright.lab import cgroups
from clusterwright.lab.packages import repository
from clusterwright.lab.state import LabState

GROUP = "packages"  # its processes' control group, besides those of the hosts
PORT = 8580
SOURCE = "etc/apt/sources.list.d/clusterwright-lab.sources"
KEYRING = "etc/apt/keyrings/clusterwright-lab.asc"


def is_needed(cluster: Cluster) -> bool:
    """Return True if the cluster file requests NVIDIA's packages and names no repository for them."""
    nvidia = cluster.software.nvidia
    return nvidia is not None and nvidia.repository is None


def build(lab: LabState, cluster: Cluster, log: Callable[[str], None]) -> None:
    """Build the lab's repository of stand-ins for NVIDIA's packages, if the cluster file requests it."""
    if is_needed(cluster):
        repository.build(folder(lab), home(lab))
        log(
            _(
                "packages: {count} stand-ins for NVIDIA's, at {address}",
                count=len(repository.standins()),
                address=address(lab),
            )
        )


def folder(lab: LabState) -> Path:
    """Return the folder of the lab's package repository, which is served."""
    return lab.folder / "packages"


def home(lab: LabState) -> Path:
    """Return the folder of the repository's signing key."""
    return lab.folder / "keys" / "gpg"


def address(lab: LabState) -> str:
    """Return the URL of the lab's repository for hosts: this machine's own address on their network."""
    machine_address = next(bridge.address for bridge in lab.layout.bridges if bridge.address)
    return f"http://{machine_address.partition('/')[0]}:{PORT}/"


def serve(lab: LabState) -> None:
    """Serve the lab's repository by a process in a control group of the lab, so that `down` ends it.

    Does nothing if it is served, or there is none.
    """
    if not folder(lab).exists() or cgroups.processes(lab.name, GROUP):
        return
    groups = " ".join(str(group / "run") for group in cgroups.make(lab.name, GROUP))
    host, port = address(lab).removeprefix("http://").rstrip("/").split(":")
    script = 'for group in $0; do echo $$ > "$group/cgroup.procs" || exit 1; done; exec "$@"'
    argv = (sys.executable, "-I", "-m", "http.server", "--bind", host, "--directory", str(folder(lab)), port)
    with (lab.folder / "packages.log").open("ab") as log:
        child = subprocess.Popen(
            ("sh", "-c", script, groups, *argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    child.returncode = 0  # this process does not wait for it


def configure_apt(lab: LabState, root: Path) -> None:
    """Write the lab repository's address and key into apt's files of a host, before its first boot.

    Nothing if the lab has no repository.
    """
    if not folder(lab).exists():
        return
    key = (folder(lab) / repository.KEY).read_text()
    text = f"Types: deb\nURIs: {address(lab)}\nSuites: ./\nSigned-By: /{KEYRING}\n"
    for path, content in ((KEYRING, key), (SOURCE, text)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        write_file_atomic(root / path, content, mode=0o644)
