"""A munge credential for another host to decode."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact("munge", "-n")
def munge_credential(out: str) -> str:
    """A credential with no payload, made by the host's munged."""
    credential = out.strip()
    if not credential.startswith("MUNGE:") or not credential.endswith(":"):
        raise ValueError(credential[:80])
    return credential
