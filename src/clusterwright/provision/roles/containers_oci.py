"""Slurm's own containers: `srun --container=BUNDLE`, started by crun without root."""

from __future__ import annotations

import json
from pathlib import Path

from clusterwright.config.cluster import Cluster, Host
from clusterwright.onhost.containers import in_image, outside
from clusterwright.provision import container_mounts
from clusterwright.provision.alike import alike
from clusterwright.provision.render.oci_conf import STATE, STOPPED, oci_conf
from clusterwright.provision.resources import Directory, File, Package, Resource, RoleContext, Symlink
from clusterwright.provision.roles.slurm import FOLDER, fetches

DEPENDENCIES = ("base", "slurm", "training")

OUTSIDE = "/opt/clusterwright/containers/outside.py"
COMMANDS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
TMPFILES = "/etc/tmpfiles.d/clusterwright-oci.conf"


@alike
def containers_oci(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the files of `srun --container` if the cluster file has `oci` containers; none on login hosts.

    oci.conf, except for compute hosts in configless mode; for compute hosts also crun, its start program and the list
    of mounts.
    """
    if "oci" not in cluster.environments.containers or host.group.role == "login":
        return ()
    conf = File(path=f"{FOLDER}/oci.conf", content=oci_conf(cluster, context.header()))
    ours = () if fetches(cluster, host) else (conf,)
    if host.group.role == "control":
        return ours
    mounts = [{"path": mount.path, "mode": mount.mode} for mount in container_mounts.mounts(cluster)]
    tmpfiles_text = (
        f"{context.header()}# State of running containers (crun), one folder for each.\n"
        f"d {STATE} 1777 root root\n"
    )
    return (
        Package(name="crun"),
        File(path=STOPPED, content='{"status": "stopped"}\n'),
        File(path=in_image.PLACES, content=json.dumps(mounts, indent=1) + "\n"),
        File(path=TMPFILES, content=tmpfiles_text),
        Directory(path=STATE, mode=0o1777),
        Directory(path=outside.ROOT),
        File(
            path=OUTSIDE,
            content="#!/usr/bin/env python3\n" + Path(outside.__file__).read_text(encoding="utf-8"),
            mode=0o755,
        ),
        *(Symlink(path=f"{in_image.COMMANDS}/{name}", target=OUTSIDE) for name in COMMANDS),
        *ours,
    )
