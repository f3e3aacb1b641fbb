"""Tries TCP connections to ADDRESS:PORT arguments, many at once, and prints JSON: how each one ended."""

import errno
import json
import os
import select
import socket
import sys
import time

LIMIT_S = 1.5  # a SYN that is lost is sent again after 1 s (RFC 6298); the second one may still be answered
AT_ONCE = 200  # ours: well below the usual 1,024 open files


def outcome(code):
    """In one word, or the system's words, how a connection ended."""
    known = {0: "open", errno.ECONNREFUSED: "refused"}
    return known.get(code) or os.strerror(code)


def attempt(targets):
    """By target: open, refused, silent, or the system's words."""
    links, found, end = {}, {}, time.monotonic() + LIMIT_S
    for target in targets:
        address, port = target.rsplit(":", 1)
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        link.setblocking(False)
        code = link.connect_ex((address, int(port)))
        if code == errno.EINPROGRESS:
            links[link] = target
        else:
            found[target] = outcome(code)
            link.close()
    while links and time.monotonic() < end:
        _, ready, _ = select.select([], list(links), [], max(0, end - time.monotonic()))
        for link in ready:
            found[links.pop(link)] = outcome(link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
            link.close()
    for link, target in links.items():
        found[target] = "silent"
        link.close()
    return found


wanted, states = sys.argv[1:], {}
for index in range(0, len(wanted), AT_ONCE):
    states.update(attempt(wanted[index : index + AT_ONCE]))
json.dump(states, sys.stdout)
