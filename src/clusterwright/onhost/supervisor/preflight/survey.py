"""Print what a training needs to know of this host as one JSON document; arguments: FOLDER TOKEN.

Sent to the Python of the ranks (standard library, Python 3.8). TOKEN is a file that the launch has written
into FOLDER: a host that does not see it has another folder of that name.
"""

from __future__ import annotations

import fcntl
import glob
import importlib.util
import json
import os
import platform
import socket
import struct
import sys
import time
from typing import Any, Dict, List, Optional

from clusterwright.onhost.lib import processes

DRIVER = "/proc/driver/nvidia"
SIOCGIFADDR, SIOCGIFNETMASK = 0x8915, 0x891B  # netdevice(7)
_LOGIND = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
_LIMIT_S = 5.0


def main() -> int:
    """Print this host's facts as JSON, for the folder and the token file of the arguments; return 0."""
    folder, token = sys.argv[1:3]
    json.dump(survey(folder, token), sys.stdout)
    return 0


def survey(folder: str, token: str) -> Dict[str, Any]:
    """Return the facts of this host that a run needs to know: folder access, torch, GPUs, driver, addresses, user.

    `token` is a file that another host has created in the folder; `time` is in epoch seconds.
    """
    ends_sessions = processes.run(("busctl", "get-property", *_LOGIND, "KillUserProcesses"), _LIMIT_S).out
    linger = processes.run(("loginctl", "show-user", str(os.getuid()), "--property=Linger"), _LIMIT_S).out
    return {
        "sees_token": os.path.exists(os.path.join(folder, token)),
        "writes_folder": os.access(folder, os.W_OK | os.X_OK),
        "python": platform.python_version(),
        "torch": _torch(),
        "gpus": _gpu_models(),
        "driver": _driver(),
        "addresses": _addresses(),
        "reached_at": (os.environ.get("SSH_CONNECTION", "").split() or ["", "", ""])[2:3],
        "ends_sessions": "true" in ends_sessions and "yes" not in linger,
        "user": os.getuid(),
        "time": time.time(),
    }


def _torch() -> Optional[str]:
    """Return the version of PyTorch on this host, "unknown" for one without metadata; None without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        return None
    try:
        from importlib import metadata

        return metadata.version("torch")
    except Exception:  # noqa: BLE001 (a damaged installation is found by the ranks)
        return "unknown"


def _gpu_models() -> List[str]:
    """Return the model of each NVIDIA GPU of this host; empty without its driver."""
    models = []
    for path in sorted(glob.glob(DRIVER + "/gpus/*/information")):
        with open(path, errors="replace") as file:
            models += [line.partition(":")[2].strip() for line in file if line.startswith("Model:")]
    return models


def _driver() -> str:
    """Return the version of NVIDIA's driver; "" without one."""
    try:
        with open(DRIVER + "/version", errors="replace") as file:
            fields = file.readline().split()
    except OSError:
        return ""
    return next((field for field in fields if field.count(".") >= 1 and field.replace(".", "").isdigit()), "")


def _addresses() -> List[List[Any]]:
    """Return `[interface, address, netmask]` of each interface of this host with an IPv4 address."""
    interfaces = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("40s", name.encode())
            try:
                address, mask = (
                    fcntl.ioctl(probe.fileno(), number, request)[20:24]
                    for number in (SIOCGIFADDR, SIOCGIFNETMASK)
                )
            except OSError:  # an interface without an IPv4 address
                continue
            interfaces.append([name, socket.inet_ntoa(address), socket.inet_ntoa(mask)])
    return interfaces


if __name__ == "__main__":
    sys.exit(main())
