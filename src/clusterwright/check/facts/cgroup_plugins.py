"""Which control groups the host has, and which of them its Slurm can use."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

# Debian's and SchedMD's deb packages, and rpm packages, put Slurm's plugins there.
_FILES = "/usr/lib/*/slurm*/cgroup_v*.so /usr/lib64/slurm/cgroup_v*.so"
_LIST = f"stat -fc %T /sys/fs/cgroup && ls {_FILES} 2>/dev/null; true"
_KINDS = {"cgroup2fs": "v2", "tmpfs": "v1"}  # cgroups(7): v1 hangs its hierarchies below a tmpfs


@dataclass(frozen=True, slots=True)
class CgroupPlugins:
    """Version of the control groups that are mounted, and the versions that Slurm's plugins are for."""

    mounted: str
    plugins: tuple[str, ...]


@fact("sh", "-c", _LIST)
def cgroup_plugins(out: str) -> CgroupPlugins:
    """The file system at /sys/fs/cgroup, and Slurm's plugins for control groups as files."""
    kind, *paths = out.splitlines()
    names = [path.rpartition("/cgroup_")[2].removesuffix(".so") for path in paths]
    if any(name not in _KINDS.values() for name in names):
        raise ValueError(out)
    return CgroupPlugins(_KINDS[kind], tuple(sorted(set(names))))
