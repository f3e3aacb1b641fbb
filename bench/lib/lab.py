"""Labs for measurements: the example's with other names and addresses, applied, and removed at the end."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.cluster import Cluster
from clusterwright.config.load import load_cluster
from clusterwright.edge.ssh import Ssh
from clusterwright.provision.apply import apply, remote_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "lab" / "cluster.yaml"
Document = dict[str, Any]


@dataclass(frozen=True)
class BenchLab:
    """A lab's cluster file, the parsed file, and the connection to its hosts."""

    file: Path
    cluster: Cluster
    remote: Ssh

    def run(self, host: str, command: str) -> str:
        """Return the output of a command on a host; exit if it fails."""
        done = self.remote.run(host, command, timeout_s=600)
        if done.code:
            sys.exit(f"{host}: {command[:80]}: {done.err or done.out}")
        return done.out


def require_lab() -> None:
    """Exit with the reasons if this machine cannot run a lab."""
    if missing := lab.able():
        sys.exit("\n".join(str(finding) for finding in missing))


def write_cluster(
    file: Path, name: str, net: str, hosts: int, change: Callable[[Document], object] | None = None
) -> Cluster:
    """Write the example's file with this name, subnets `NET.*` and number of compute hosts; `change` edits the rest."""
    yaml = YAML()
    document = yaml.load(EXAMPLE.read_text().replace("10.77.", f"{net}."))
    document["name"] = name
    document["nodes"]["a100"]["hosts"] = f"gpu-node[1-{hosts}]"
    if change:
        change(document)
    yaml.dump(document, file)
    return load_cluster(file)


@contextmanager
def bench_lab(
    name: str,
    net: str,
    hosts: int,
    change: Callable[[Document], object] | None = None,
    *,
    folder: Path | None = None,
) -> Iterator[BenchLab]:
    """Yield an applied lab, removed at the end; its file is in `folder` or a temporary folder."""
    require_lab()
    with tempfile.TemporaryDirectory() as temporary:
        file = (folder or Path(temporary)) / "cluster.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        cluster = write_cluster(file, name, net, hosts, change)
        try:
            lab.up(cluster)
            remote = remote_of(cluster)
            if failed := apply(cluster, str(file), remote).failed:
                sys.exit(f"apply failed: {failed}")
            yield BenchLab(file, cluster, remote)
        finally:
            left = lab.down(name)
        assert not left, left


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """Replace each old part of a text, all of which must occur."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
