"""Tries TCP connections to ADDRESS:PORT arguments, many at once, and prints the outcome of each as JSON.

A target prefixed with `-` is expected to drop packets, and has a shorter timeout. Targets can also come as JSON on
stdin: ports by host, tried at the addresses of HOST=ADDRESS arguments.
"""

import errno
import json
import os
import select
import socket
import sys
import time
from typing import Dict, List

LIMIT_S = 1.5  # a lost SYN is sent again after 1 s (RFC 6298), and the second one needs time for its response
NO_REPLY_S = 0.5  # our choice: 100 times a round trip inside a cluster
AT_ONCE = 200  # our choice: well below the usual 1,024 open files


def outcome(code: int) -> str:
    """Return `open`, `refused` or the error text for an errno of connect(2)."""
    outcomes = {0: "open", errno.ECONNREFUSED: "refused"}
    return outcomes.get(code) or os.strerror(code)


def attempt(targets: List[str]) -> Dict[str, str]:
    """Connect to all targets at once; return `open`, `refused`, `silent` (no response) or the error text of each."""
    links = {}  # type: Dict[socket.socket, str]
    outcomes = {}  # type: Dict[str, str]
    for target in targets:
        address, port = target.lstrip("-").rsplit(":", 1)
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        link.settimeout(0)
        code = link.connect_ex((address, int(port)))
        if code == errno.EINPROGRESS:
            links[link] = target
        else:
            outcomes[target] = outcome(code)
            link.close()
    began = time.monotonic()
    while links:
        limit_s = NO_REPLY_S if all(target.startswith("-") for target in links.values()) else LIMIT_S
        left_s = began + limit_s - time.monotonic()
        ready = select.select([], list(links), [], max(0, left_s))[
            1
        ]  # also results that arrived while this process got no CPU time
        if not ready:
            break
        for link in ready:
            outcomes[links.pop(link)] = outcome(link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
            link.close()
    for link, target in links.items():
        outcomes[target] = "silent"
        link.close()
    return {target.lstrip("-"): state for target, state in outcomes.items()}


all_targets = [argument for argument in sys.argv[1:] if "=" not in argument]
addresses = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
if addresses:
    all_targets += [
        "-%s:%d" % (addresses[host], port)
        for host, ports in json.load(sys.stdin).items()
        for port in ports
        if host in addresses
    ]
states = {}  # type: Dict[str, str]
for index in range(0, len(all_targets), AT_ONCE):
    states.update(attempt(all_targets[index : index + AT_ONCE]))
json.dump(states, sys.stdout)
