"""The host's network interfaces."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class Interface:
    """The interface that holds an address."""

    name: str
    up: bool
    mtu: int


@fact("ip", "-j", "address")
def addresses(out: str) -> dict[str, Interface]:
    """Interface by IPv4 address; `up` means that it has a carrier."""
    return {
        address["local"]: Interface(row["ifname"], "LOWER_UP" in row["flags"], int(row["mtu"]))
        for row in parse_document(out)
        for address in row["addr_info"]
        if address["family"] == "inet"
    }
