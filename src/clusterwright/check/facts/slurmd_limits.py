"""The resource limits that jobs inherit from slurmd."""

from __future__ import annotations

import re

from clusterwright.check.fact import fact

UNLIMITED = -1


@fact(
    "sh",
    "-c",
    "cat /proc/$(systemctl show --property=MainPID --value slurmd.service)/limits",
    permission="root",
)
def slurmd_limits(out: str) -> dict[str, int]:
    """Soft limits of the running slurmd by name, which jobs inherit; -1 for unlimited."""
    heading, *rows = out.splitlines()
    if not heading.startswith("Limit "):
        raise ValueError(heading)
    columns = (re.split(r"\s{2,}", row) for row in rows)
    return {name: UNLIMITED if soft == "unlimited" else int(soft) for name, soft, *_ in columns}
