"""Test that this host reaches the ports of other hosts, and they its own.

Arguments: HOST ADDRESS:PORT, then HOST=ADDRESS:PORT of each other one. All hosts run it at the same time. It prints
those that it cannot connect to, as one JSON list (Python 3.8, standard library; sent to the Python of the ranks).
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from typing import Dict, Set, Tuple

LIMIT_S = 10.0  # ssh to the slowest host included
CONNECT_S, PAUSE_S = 2.0, 0.2


def main() -> int:
    """Test connections between hosts: print as JSON the hosts to which this one could not connect; return 0.

    It also listens for theirs, until all have connected or LIMIT_S is over.
    """
    name, listen_address, *pairs = sys.argv[1:]
    targets = {host: _parse(text) for host, _equals, text in (pair.partition("=") for pair in pairs)}
    deadline = time.monotonic() + LIMIT_S
    connected: Set[str] = set()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(_parse(listen_address))
        listener.listen(64)
        threading.Thread(target=_accept, args=(listener, connected), daemon=True).start()
        missing = _connect_all(name, targets, deadline)
        while connected < set(targets) and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
    json.dump(missing, sys.stdout)
    return 0


def _parse(text: str) -> Tuple[str, int]:
    address, _colon, port = text.rpartition(":")
    return address, int(port)


def _connect_all(name: str, targets: Dict[str, Tuple[str, int]], deadline: float) -> list[str]:
    """Connect to each target and send our name; return the hosts not connected to by the deadline, sorted."""
    missing = dict(targets)
    while missing and time.monotonic() < deadline:
        for host, target in list(missing.items()):
            try:
                with socket.create_connection(target, timeout=CONNECT_S) as connection:
                    connection.sendall(name.encode())
                del missing[host]
            except OSError:
                time.sleep(PAUSE_S / len(missing))
    return sorted(missing)


def _accept(listener: socket.socket, connected: Set[str]) -> None:
    """Accept connections until the listener closes, and add the name that each sends to `connected`."""
    while True:
        try:
            connection, _source = listener.accept()
            with connection:
                connection.settimeout(CONNECT_S)
                connected.add(connection.recv(255).decode(errors="replace"))
        except socket.timeout:
            continue
        except OSError:  # the listener is closed
            return


if __name__ == "__main__":
    sys.exit(main())
