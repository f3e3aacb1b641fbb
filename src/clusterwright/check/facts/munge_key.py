"""Owner, mode and checksum of the munge key."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_KEY = "/etc/munge/munge.key"


@dataclass(frozen=True, slots=True)
class MungeKey:
    """Owner, group, mode and SHA-256 of the key file; never the key."""

    owner: str
    group: str
    mode: str
    sha256: str


@fact("sh", "-c", f"stat -c '%U %G %a' {_KEY} && sha256sum {_KEY}", permission="root")
def munge_key(out: str) -> MungeKey:
    """Owner, mode and SHA-256 of the munge key file."""
    about, digest = out.strip().splitlines()
    owner, group, mode = about.split()
    sha256 = digest.split()[0]
    if len(bytes.fromhex(sha256)) != 32:
        raise ValueError(digest)
    return MungeKey(owner, group, mode, sha256)
