"""Environment variables that set the cache folders of programs (pip, Hugging Face, Triton and others)."""

from __future__ import annotations

import re
from collections.abc import Container

from clusterwright.config.cluster import Cluster

# Large, downloaded once, then only read: one copy for all hosts.
SHARED = {"HF_HOME": "huggingface", "TORCH_HOME": "torch"}
# Many small files and locks: in a shared folder, ranks would wait for each other.
LOCAL = {
    "PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor", "CUDA_CACHE_PATH": "cuda", "APPTAINER_CACHEDIR": "apptainer",
}  # fmt: skip


_SUBFOLDER = "clusterwright-caches"
# hier(7), file-hierarchy(7): /var/run and /var/lock are links into /run.
_VOLATILE = re.compile(r"/(?:(?:var/)?(?:tmp|run)|var/lock|dev)(?:/.*)?")
_SQUASHED = 65534  # root's id on file servers that do not know root


def local_folder(cluster: Cluster) -> str | None:
    """Return the folder below which users have local caches: `caches.local`, or a subfolder if it has other uses.

    None if it is not set. All users may create folders in scratch, /tmp or /dev/shm, but only root in the subfolder.
    """
    folder = cluster.environments.caches.local
    mounts = {disk.mount for group in cluster.nodes.values() for disk in group.disks}
    has_other_uses = folder and (
        folder in {cluster.environments.scratch, *mounts} or folder.endswith(("tmp", "shm"))
    )
    return f"{folder}/{_SUBFOLDER}" if has_other_uses else folder


def is_volatile(folder: str) -> bool:
    """Return whether a folder is gone after a boot, or after a while, so that any user could create it anew."""
    return bool(_VOLATILE.fullmatch(folder))


def caches(cluster: Cluster) -> dict[str, str]:
    """Return the variables of programs' caches with the user's folder, shared or local.

    Those without a folder are left out.
    """
    shared_base, local_base = cluster.environments.caches.shared, local_folder(cluster)
    shared = {name: f"{shared_base}/$USER/{folder}" for name, folder in SHARED.items() if shared_base}
    local = {name: f"{local_base}/$USER/{folder}" for name, folder in LOCAL.items() if local_base}
    # uv links from its cache into environments, which needs one file system
    return shared | local | ({"UV_LINK_MODE": "copy"} if local_base else {})


def cache_lines(cluster: Cluster, form: str, left_out: Container[str] = ()) -> list[str]:
    """Return lines of sh that set the variables, each as `form` with its `name` and `value`.

    Where no prolog runs, all users may create folders below the cache folders. A user's folder that is a link, belongs
    to somebody else or is writable by others is not used, nor one in a folder in which others may move it: they could
    exchange compiled code. The programs then use their own defaults. One `stat` of a folder decides, since what other
    users own may be exchanged between two looks.
    """
    shared, local, values = cluster.environments.caches.shared, local_folder(cluster), caches(cluster)
    lines = []
    for base, names in ((shared, (*SHARED,)), (local, (*LOCAL, "UV_LINK_MODE"))):
        exports = [
            form.format(name=name, value=values[name]) for name in names if base and name not in left_out
        ]
        if base and exports:
            owners = ("0", "$(id -u)", *([str(_SQUASHED)] if base == shared else []))
            trusted_patterns = [
                f'"directory {owner} "{mode}' for owner in owners for mode in ("[1357]???", "*[0145][0145]")
            ]
            folder = f"{base}/$USER"
            user_lines = [
                f'mkdir -m 700 "{folder}" 2>/dev/null || :',
                *_if_stat(
                    folder, ['"directory $(id -u) "*[0145][0145]'], exports, "a private folder of yours"
                ),
            ]
            lines += _if_stat(
                base, trusted_patterns, user_lines, "a folder in which only root can move others' folders"
            )
    return [': "${USER:=$(id -un)}"', *lines] if lines else []


def _if_stat(folder: str, patterns: list[str], lines: list[str], expected: str) -> list[str]:
    """Return lines of sh that run where type, owner and mode of a folder match a pattern, and warn if it differs."""
    return [
        f"case $(LC_ALL=C stat -c '%F %u %a' \"{folder}\" 2>/dev/null) in",
        f"  {' | '.join(patterns)})",
        *(f"    {line}" for line in lines),
        "    ;;",
        "  ?*)",
        f'    echo "clusterwright: {folder} is not {expected}: not used for caches" >&2',
        "    ;;",
        "esac",
    ]
