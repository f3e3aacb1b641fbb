"""The running kernel."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact("uname", "-r")
def kernel(out: str) -> str:
    """Release of the running kernel; says nothing of one that is installed and waits for a reboot."""
    (release,) = out.split()
    return release
