"""The repository of one lab: built when it comes up, served to its hosts, known to their apt, gone with the lab."""

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

GROUP = "packages"  # its processes' control group, beside those of the hosts
PORT = 8580
SOURCE = "etc/apt/sources.list.d/clusterwright-lab.sources"
KEYRING = "etc/apt/keyrings/clusterwright-lab.asc"


def is_needed(cluster: Cluster) -> bool:
    """True where the file asks for NVIDIA's packages and names no repository that has them."""
    nvidia = cluster.software.nvidia
    return nvidia is not None and nvidia.repository is None


def build(lab: LabState, cluster: Cluster, log: Callable[[str], None]) -> None:
    """The repository is there, if the file asks for it."""
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
    """What is served."""
    return lab.folder / "packages"


def home(lab: LabState) -> Path:
    """Where the key is that signs it."""
    return lab.folder / "keys" / "gpg"


def address(lab: LabState) -> str:
    """Where hosts find it: this machine's own address on their network."""
    machine_address = next(bridge.address for bridge in lab.layout.bridges if bridge.address)
    return f"http://{machine_address.partition('/')[0]}:{PORT}/"


def serve(lab: LabState) -> None:
    """A process of the lab's, in a control group of the lab's: whoever takes the lab down ends it."""
    if not folder(lab).exists() or cgroups.processes(lab.name, GROUP):
        return
    groups = " ".join(str(group / "run") for group in cgroups.make(lab.name, GROUP))
    host, port = address(lab).removeprefix("http://").rstrip("/").split(":")
    script = 'for group in $0; do echo $$ > "$group/cgroup.procs" || exit 1; done; exec "$@"'
    argv = (sys.executable, "-m", "http.server", "--bind", host, "--directory", str(folder(lab)), port)
    with (lab.folder / "packages.log").open("ab") as log:
        child = subprocess.Popen(
            ("sh", "-c", script, groups, *argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, cwd="/",
        )  # fmt: skip
    child.returncode = 0  # not ours to wait for


def configure_apt(lab: LabState, root: Path) -> None:
    """A host that has not booted knows where it is, and by which key it is signed."""
    if not folder(lab).exists():
        return
    key = (folder(lab) / repository.KEY).read_text()
    text = f"Types: deb\nURIs: {address(lab)}\nSuites: ./\nSigned-By: /{KEYRING}\n"
    for path, content in ((KEYRING, key), (SOURCE, text)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        write_file_atomic(root / path, content, mode=0o644)
