"""The name that the host gives itself."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact("uname", "-n")
def hostname(out: str) -> str:
    """The host's own name, without a domain."""
    (name,) = out.split()
    return name.split(".")[0]
