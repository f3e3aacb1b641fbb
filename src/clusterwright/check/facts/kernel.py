"""The running kernel."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact("uname", "-r")
def kernel(out: str) -> str:
    """Release of the running kernel, not of one that is installed but not yet booted."""
    (release,) = out.split()
    return release
