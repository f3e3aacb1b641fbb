"""systemd units in state failed."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact("systemctl", "list-units", "--failed", "--plain", "--no-legend", "--no-pager")
def failed_units(out: str) -> tuple[str, ...]:
    """Every systemd unit in state failed."""
    rows = [line.split(None, 3) for line in out.splitlines() if line.strip()]
    if any(row[2] != "failed" for row in rows):
        raise ValueError(out)
    return tuple(row[0] for row in rows)
