"""enroot, and pyxis: `srun --container-image=...`."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Package, Resource, RoleContext
from clusterwright.provision.roles.slurm import FOLDER, fetches

DEPENDENCIES = ("base", "repositories", "slurm")

# Sources: enroot's pkg/deb/control and releases; pyxis' debian/control and pyxis.spec. No distribution packages them.
ENROOT = ("enroot", "enroot+caps")
PYXIS = "nvslurm-plugin-pyxis"
PLUGIN = "spank_pyxis.so"


@alike
def containers_pyxis(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the pyxis plugin for all hosts, enroot for compute hosts, if `environments.containers` has `pyxis`."""
    if "pyxis" not in cluster.environments.containers:
        return ()
    header, plugin = context.header(), f"{cluster.platform.slurm_plugins}/{PLUGIN}"
    enroot = host.group.role == "compute"
    return (
        Package(name=PYXIS),
        *((Package(name=name) for name in ENROOT) if enroot else ()),
        *_plugstack(cluster, host, header + _load(plugin), header),
        *((File(path="/etc/enroot/enroot.conf", content=_enroot_conf(cluster, header)),) if enroot else ()),
    )


def _plugstack(cluster: Cluster, host: Host, load: str, header: str) -> tuple[File, ...]:
    """Return plugstack.conf, which includes all files of plugstack.conf.d, and the file there that loads pyxis.

    In configless mode plugstack.conf loads pyxis only, and compute hosts get no file, as slurmctld serves it to them.
    """
    if cluster.slurm.configless:
        return () if fetches(cluster, host) else (File(path=f"{FOLDER}/plugstack.conf", content=load),)
    return (
        File(path=f"{FOLDER}/plugstack.conf", content=f"{header}include {FOLDER}/plugstack.conf.d/*.conf\n"),
        File(path=f"{FOLDER}/plugstack.conf.d/pyxis.conf", content=load),
    )


def _load(plugin: str) -> str:
    """Return the line of plugstack.conf that loads the pyxis plug-in at the path, below a comment.

    `optional`: if it was built for another Slurm release, jobs without an image still run.
    """
    return (
        "# Built for one Slurm release: rebuild it after an upgrade.\n"
        f"optional {plugin} runtime_path=/run/pyxis execute_entrypoint=0 container_scope=job\n"
    )


def _enroot_conf(cluster: Cluster, header: str) -> str:
    """Return enroot.conf: unpacked images are large and have many small files, so they go to the host's own disk."""
    scratch_path = f"{cluster.environments.scratch}/enroot-$(id -u)"
    return f"""{header}ENROOT_RUNTIME_PATH {scratch_path}/run
ENROOT_CACHE_PATH {scratch_path}/cache
ENROOT_DATA_PATH {scratch_path}/data
ENROOT_TEMP_PATH {scratch_path}/temporary

# As in Slurm's own containers: homes are mounted, and only the GPUs of the step are visible.
ENROOT_MOUNT_HOME yes
ENROOT_RESTRICT_DEV yes
"""
