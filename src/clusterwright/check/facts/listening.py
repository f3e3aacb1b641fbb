"""The TCP ports that the host listens on."""

from __future__ import annotations

from clusterwright.check.fact import fact

_LOCAL = ("127.", "[::1]", "[::ffff:127.")


@fact("ss", "-Hltn")
def listening(out: str) -> tuple[int, ...]:
    """TCP ports with a listener on a non-loopback address, sorted."""
    rows = [line.split() for line in out.splitlines()]
    if any(row[0] != "LISTEN" for row in rows):
        raise ValueError(out)
    addresses = [row[3] for row in rows if not row[3].startswith(_LOCAL)]
    return tuple(sorted({int(address.rpartition(":")[2]) for address in addresses}))
