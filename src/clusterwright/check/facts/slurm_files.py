"""Checksums of Slurm's configuration files."""

from __future__ import annotations

from clusterwright.check.fact import fact

FILES = ("slurm.conf", "gres.conf", "cgroup.conf", "topology.conf")


@fact("sha256sum", *(f"/etc/slurm/{name}" for name in FILES), codes=(0, 1))
def slurm_files(out: str) -> dict[str, str]:
    """SHA-256 of each configuration file in /etc/slurm; missing files are left out."""
    digests = {}
    for line in out.splitlines():
        digest, path = line.split()
        bytes.fromhex(digest)
        digests[path.rpartition("/")[2]] = digest
    return digests
