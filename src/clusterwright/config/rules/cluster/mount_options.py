"""Mount options are spelt as NFS spells them."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.storage import Nfs
from clusterwright.errors import did_you_mean

# nfs(5) and mount(8), and in the last line those of clients of filers' makers, which are near to them.
_KNOWN = frozenset({
    "ac", "acdirmax", "acdirmin", "acl", "acregmax", "acregmin", "actimeo", "async", "atime", "auto", "bg",
    "clientaddr", "context", "cto", "defaults", "defcontext", "dev", "diratime", "exec", "fg", "fsc",
    "fscontext", "group", "hard", "intr", "iversion", "lazytime", "local_lock", "lock", "lookupcache",
    "loud", "mand", "max_connect", "migration", "minorversion", "mounthost", "mountport", "mountproto",
    "mountvers", "namlen", "nconnect", "nfsvers", "noac", "noacl", "noatime", "noauto", "nocto", "nodev",
    "nodiratime", "noexec", "nofail", "nofsc", "nogroup", "nointr", "noiversion", "nolazytime", "nolock",
    "nomand", "nomigration", "noowner", "noposix", "nordirplus", "norelatime", "noresvport", "nosharecache",
    "nosharetransport", "nosoftreval", "nostrictatime", "nosuid", "nosymfollow", "notrunkdiscovery",
    "nouser", "nousers", "owner", "port", "posix", "proto", "rdirplus", "rdma", "relatime", "remount",
    "resvport", "retrans", "retry", "ro", "rootcontext", "rsize", "rw", "sec", "sharecache",
    "sharetransport", "silent", "sloppy", "soft", "softerr", "softreval", "strictatime", "suid", "sync",
    "tcp", "tcp6", "timeo", "trunkdiscovery", "udp", "udp6", "user", "users", "v3", "v4", "vers", "write",
    "wsize", "xprtsec",
    "localports", "mdconnect", "noextend", "remoteports", "spread_reads", "spread_writes",
})  # fmt: skip
_REMEMBERS = ("actimeo", "acregmin", "acregmax", "acdirmin", "acdirmax")
_NAME = 4  # letters; v42 and its like are near to too much


def mount_options(cluster: Cluster) -> Iterator[Clash]:
    """Only what is nearly one of them is refused: the site's client may know more than we do."""
    for name, folder in cluster.storage.items():
        for index, option in enumerate(folder.options if isinstance(folder, Nfs) else ()):
            said, equals, value = option.partition("=")
            meant = None if said in _KNOWN else did_you_mean(said, _KNOWN)
            if meant and len(said) >= _NAME and "," not in option and "." not in said:
                yield Clash(
                    "mount-option",
                    f"NFS knows no mount option `{said}`, and mount would refuse the folder on every host",
                    f"did you mean `{meant}{equals}{value}`?",
                    (("storage", name, "options", index),),
                )
        if isinstance(folder, Nfs):
            yield from _contradicted(name, folder)


def _contradicted(name: str, folder: Nfs) -> Iterator[Clash]:
    """Remembering nothing is actimeo=0 and sync (nfs(5)); a time beside it says the opposite."""
    times = [index for index, option in enumerate(folder.options) if option.partition("=")[0] in _REMEMBERS]
    noac = [index for index, option in enumerate(folder.options) if option == "noac"]
    if times and (folder.noac or noac):
        asked = ("storage", name, "noac") if folder.noac else ("storage", name, "options", noac[0])
        option = folder.options[times[0]]
        yield Clash(
            "noac-and-actimeo",
            f"`{name}` is to remember nothing of files (noac) and to remember it for a time ({option})",
            f"take one of them out; `{option}` alone is the cheaper",
            (asked, ("storage", name, "options", times[0])),
        )
