"""The process of the lab's power switch: serves requests until the lab is removed."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import struct
import sys
import time
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import boot, state
from clusterwright.lab.faults import kill_host
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState
from clusterwright.provision.roles.slurm_account import SLURM_ID

POWER_OFF = signal.SIGRTMIN + 4  # systemd(1): starts poweroff.target
REQUEST_S = 5  # a request is one line, sent in one write
REST_S = 1.0
MOST_BYTES = 1 << 20  # of a request: the names of 65,536 hosts
MOST_REQUESTS = 64  # at once; more wait in the queue of the socket
USERS = (0, SLURM_ID)  # who may use the switch; hosts of a lab have the user ids of the machine
INCONSISTENT, SLOW, KILLED = "inconsistent-power-state", "power-slow", "kill-host"


def serve(name: str, path: Path) -> None:
    """Serve requests to the lab's power switch on a socket until the lab is removed.

    Each request in a process of its own, so that a slow one delays no other. Requests of users outside USERS are
    closed; beyond MOST_REQUESTS at a time they wait.
    """
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(str(path))
        path.chmod(0o666)  # the folder is bound into one host only; the user ids of its processes are checked
        door.listen(64)
        door.settimeout(REST_S)
        requests: set[int] = set()
        while state.read(name) is not None:
            requests = {child for child in requests if not _has_ended(child)}
            if len(requests) >= MOST_REQUESTS:
                time.sleep(REST_S / 10)
                continue
            try:
                line, _ = door.accept()
            except TimeoutError:
                continue
            if user_of(line) in USERS:
                child = os.fork()
                if child == 0:
                    os._exit(_serve_request(name, line))
                requests.add(child)
            line.close()


def user_of(line: socket.socket) -> int:
    """Return the user id of the process at the other end of a Unix socket."""
    pid_uid_gid = struct.Struct("3i")
    return int(
        pid_uid_gid.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, pid_uid_gid.size))[1]
    )


def _has_ended(child: int) -> bool:
    return os.waitpid(child, os.WNOHANG)[0] != 0


def _serve_request(name: str, line: socket.socket) -> int:
    """Serve one request of a connection to the power switch, and close it; return 0.

    One line of JSON comes in, {verb, hosts}, and one goes out, {host: power state, error or ""}.
    """
    with line:
        line.settimeout(REQUEST_S)
        with line.makefile("rwb") as stream:
            request = json.loads(stream.readline(MOST_BYTES))
            replies = {host: _answer(name, request["verb"], host) for host in request["hosts"]}
            stream.write(json.dumps(replies).encode() + b"\n")
    return 0


def _answer(name: str, verb: str, host: str) -> str:
    """Run a verb (state, on, off ...) of the power switch on the host, subject to its faults; return the answer.

    That is `on` or `off` for `state`, else "" or an error. With the fault of an inconsistent power state it changes
    nothing and returns "".
    """
    try:
        lab = state.require(name)
        lab_host = lab.layout.host(host)
        if verb == "state":
            return "on" if boot.is_running(lab.processes.get(host)) else "off"
        faults = {fault.kind: fault.options for fault in lab.faults if fault.host == host}
        if verb == "on" and KILLED in faults:
            return _("cannot power on {host}: the lab fault kill-host is injected", host=host)
        if INCONSISTENT in faults:
            return ""
        if verb == "on" and SLOW in faults:
            time.sleep(float(faults[SLOW].get("seconds", "10")))
        with state.locked(lab.folder):
            switch(state.require(name), lab_host, verb)
    except WrightError as error:
        return str(error)
    return ""


def switch(lab: LabState, lab_host: LabHost, verb: str) -> None:
    """Switch the host `on`, `off` or (`kill`) off at once, and store the desired state in the journal for `up`.

    Does not wait until the host is up or down.
    """
    keeper = lab.processes.get(lab_host.name)
    running = boot.is_running(keeper)
    switched_off = lab.switched_off - {lab_host.name} if verb == "on" else lab.switched_off | {lab_host.name}
    if switched_off != lab.switched_off:
        lab = state.write(dataclasses.replace(lab, switched_off=switched_off))
    if verb == "on" and not running:
        kill_host.undo(lab, lab_host, {})
    if verb == "kill":
        kill_host.inject(lab, lab_host, {})
    init_pid = boot.init_of(keeper) if keeper and verb == "off" else None
    if init_pid is not None:
        os.kill(init_pid, POWER_OFF)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
