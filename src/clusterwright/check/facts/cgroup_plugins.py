"""The cgroup version of the host, and the versions that its Slurm has plugins for."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

# Plugin folders of Debian's and SchedMD's deb packages, and of rpm packages.
_FILES = "/usr/lib/*/slurm*/cgroup_v*.so /usr/lib64/slurm/cgroup_v*.so"
_LIST = f"stat -fc %T /sys/fs/cgroup && ls {_FILES} 2>/dev/null; true"
_KINDS = {"cgroup2fs": "v2", "tmpfs": "v1"}  # cgroups(7): v1 mounts its hierarchies below a tmpfs


@dataclass(frozen=True, slots=True)
class CgroupPlugins:
    """The mounted cgroup version, and the versions of Slurm's cgroup plugins."""

    mounted: str
    plugins: tuple[str, ...]


@fact("sh", "-c", _LIST)
def cgroup_plugins(out: str) -> CgroupPlugins:
    """The file system type of /sys/fs/cgroup, and the cgroup plugin files of Slurm."""
    kind, *paths = out.splitlines()
    names = [path.rpartition("/cgroup_")[2].removesuffix(".so") for path in paths]
    if any(name not in _KINDS.values() for name in names):
        raise ValueError(out)
    return CgroupPlugins(_KINDS[kind], tuple(sorted(set(names))))
