"""`wright state recover`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from clusterwright.cli._live_names import HOSTS
from clusterwright.cli._quantities import Hostlist
from clusterwright.cli._show import cluster_option, show_json, show_message, show_next, show_table
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.provision.recover import HostKey

state = App(
    name="state",
    help="Recover the state of a cluster that this machine has lost.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@state.command
def recover(
    *, cluster: Path | None = None, hosts: Annotated[Hostlist, HOSTS] = "", json: bool = False
) -> int:
    """Read the munge key back from the hosts, over SSH as root, and store it on this machine with mode 0600.

    All hosts that respond must have the same key, and it must be the one that the last apply wrote. Certificates
    and initial passwords are not on the hosts in full: the next apply issues new ones.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    hosts
        Hosts to read from, as a hostlist; default: all.
    json
        Print one JSON document on stdout, without the key.
    """
    from clusterwright.cli._connection import cluster_file
    from clusterwright.cli._hostlist import hosts_of
    from clusterwright.config.load import load_cluster
    from clusterwright.edge.secrets import state_folder
    from clusterwright.provision.apply import remote_of
    from clusterwright.provision.recover import recover as read_back

    file = cluster_file(cluster)
    spec = load_cluster(file)
    folder = state_folder(spec.name)
    names = [host.name for host in spec.hosts()]
    keys = read_back(spec, folder, remote_of(spec), hosts_of(spec, hosts) or names)
    show(keys, folder / "munge.key", json=json)
    show_next(f"wright apply {cluster_option(file)} --dry-run")
    return 0


def show(keys: tuple[HostKey, ...], path: Path, *, json: bool) -> None:
    """Print a row, or JSON, for each host: fingerprint of its munge key, its last apply, and why its key was not used.

    `path` is the file in which the key is now.
    """
    rows = [
        (key.host, key.fingerprint if key.key else "-", key.when or "-", key.source or "-", key.error or "-")
        for key in keys
    ]
    if json:
        names = ("host", "fingerprint", "when", "source", "error")
        show_json({"path": path, "hosts": [dict(zip(names, row, strict=True)) for row in rows]})
        return
    show_table(("host", "SHA-256", "last apply (UTC)", "file", "not used"), rows)
    show_message(_("{path}: the munge key of the hosts", path=path))
