"""Resolves NAME=ADDRESS arguments both ways with this host's resolver and prints JSON."""

import json
import socket
import sys
from typing import List


def forward(name: str) -> List[str]:
    """Return the IPv4 addresses of a name; none if it is unknown."""
    try:
        return sorted({str(info[4][0]) for info in socket.getaddrinfo(name, None, socket.AF_INET)})
    except OSError:
        return []


def reverse(address: str) -> List[str]:
    """Return the names of an address, the canonical one first; none if it is unknown."""
    try:
        official, aliases, _ = socket.gethostbyaddr(address)
    except OSError:
        return []
    return [official] + aliases


pairs = [argument.split("=", 1) for argument in sys.argv[1:]]
results = {
    "forward": {name: forward(name) for name, _ in pairs},
    "reverse": {ip: reverse(ip) for _, ip in pairs},
}
json.dump(results, sys.stdout)
