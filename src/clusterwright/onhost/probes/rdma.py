"""Prints every port of every RDMA device from sysfs, in one JSON line.

Arguments: the sysfs tree and the device files, if not at the usual paths. Reads state only, no counters: reading some
of them floods the kernel log.
"""

import json
import os
import sys
from typing import Any, Dict, List

from clusterwright.onhost.lib.sysfs import listed, read

TREE, FILES = "/sys/class/infiniband", "/dev/infiniband"
MOST_GIDS = 32  # a RoCE port has up to 256 entries; the used ones are among the first
NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


def gids(port: str) -> List[Dict[str, str]]:
    """Return the GIDs of a port that are in use, with index, type and interface."""
    entries = []
    for index in listed(port, "gids")[:MOST_GIDS]:
        gid = read(port, "gids", index)
        if gid and gid != NO_GID and not gid.endswith(":0000:0000:0000:0000"):
            kind, interface = (read(port, "gid_attrs", folder, index) for folder in ("types", "ndevs"))
            entries.append({"index": index, "gid": gid, "type": kind, "interface": interface})
    return entries


def describe_port(tree: str, device: str, number: str) -> Dict[str, Any]:
    """Return one port's record: state, rate, link layer, GIDs and the like."""
    device_path = os.path.join(tree, device)
    port = os.path.join(device_path, "ports", number)
    texts = {
        name: read(port, name) for name in ("state", "phys_state", "rate", "link_layer", "lid", "sm_lid")
    }
    firmware, board = read(device_path, "fw_ver"), read(device_path, "board_id")
    interfaces = listed(device_path, "device", "net")
    more = {"device": device, "port": number, "firmware": firmware, "board": board}
    return {**more, **texts, "interfaces": interfaces, "gids": gids(port)}


def main() -> None:
    """Print as JSON all RDMA ports, and the number of verbs devices."""
    tree, files = sys.argv[1:] or (TREE, FILES)
    ports = [
        describe_port(tree, device, number)
        for device in listed(tree)
        for number in listed(tree, device, "ports")
    ]
    verbs = [name for name in listed(files) if name.startswith("uverbs")]
    sys.stdout.write(json.dumps({"ports": ports, "verbs": len(verbs)}) + "\n")
