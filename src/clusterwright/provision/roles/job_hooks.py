"""Prolog, epilog, health program and the rest of what Slurm runs around jobs on a compute host."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.isolation import host_addresses, is_isolated
from clusterwright.provision.render.job_hooks import FOLDER, PROGRAMS, declared, hook_texts, scratch_of
from clusterwright.provision.resources import Directory, File, Resource, RoleContext

DEPENDENCIES = ("base",)  # sorts before slurm, because slurm.conf names the programs


@alike
def job_hooks(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the programs around jobs and the scratch folder for compute hosts; nothing if `slurm.health` is off.

    Each job reads them anew, so a change costs nothing. They are installed before slurm.conf names them. In a lab the
    first local disk is a folder.
    """
    if not cluster.slurm.health or host.group.role != "compute":
        return ()
    header = context.header()
    names = tuple(f"{FOLDER}/{name}" for name in PROGRAMS)
    texts = {f"{FOLDER}/declared": declared(cluster, host, header)} | hook_texts(header)
    if is_isolated(cluster):
        texts[f"{FOLDER}/host_addresses"] = host_addresses(cluster, header)
    scratch = scratch_of(host)
    return (
        *((Directory(path=scratch),) if scratch and cluster.lab else ()),
        Directory(path="/etc/slurm"),
        Directory(path=FOLDER),
        *(
            File(path=path, content=text, mode=0o755 if path in names else 0o644)
            for path, text in texts.items()
        ),
    )
