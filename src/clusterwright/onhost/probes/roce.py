"""Prints the present settings of the RoCE ports that `apply` found, in one JSON line.

Arguments: the file with the network of each port, and the root of /sys, if not at the usual paths.
"""

import json
import os
import sys
from typing import Dict

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.sysfs import read

PORTS, ROOT = "/etc/clusterwright/rdma-ports", ""
LIMIT_S = 3


def command_output(*argv: str) -> str:
    """Return the command's output without blanks around it; "" if it is missing, fails or takes over LIMIT_S."""
    result = processes.run(argv, LIMIT_S)
    return result.out.strip() if result.ok else ""


def describe_port(root: str, line: str) -> Dict[str, str]:
    """Return one port's settings from the driver, the dcb command and rdma_cm.

    `line` is `NETWORK DEVICE PORT INTERFACE MTU`, separated by spaces.
    """
    network, device, number, link, _mtu = line.split()
    ecn = f"{root}/sys/class/net/{link}/ecn"
    cma = f"{root}/sys/kernel/config/rdma_cm/{device}/ports/{number}"
    pauses = command_output("dcb", "pfc", "show", "dev", link, "prio-pfc")
    report = {
        "network": network,
        "device": device,
        "port": number,
        "interface": link,
        "pfc": pauses.replace("prio-pfc", "").strip(),
        "dscp": command_output("dcb", "-N", "app", "show", "dev", link, "dscp-prio")
        .replace("dscp-prio", "")
        .strip(),
        "mtu": read(f"{root}/sys/class/net/{link}/mtu"),
        "tos": read(f"{cma}/default_roce_tos"),
        "mode": read(f"{cma}/default_roce_mode"),
        "cnp_dscp": read(f"{ecn}/roce_np/cnp_dscp"),
    }
    for role in ("np", "rp"):
        on = [priority for priority in range(8) if read(f"{ecn}/roce_{role}/enable/{priority}") == "1"]
        report[role] = " ".join(map(str, on)) if os.path.isdir(ecn) else "unknown"
    return report


def main() -> None:
    """Print the settings of all RoCE ports as JSON; an empty list if `apply` has written none."""
    file, root = sys.argv[1:] or (PORTS, ROOT)
    lines = [line for line in read(file).splitlines() if line and not line.startswith("#")]
    sys.stdout.write(json.dumps([describe_port(root, line) for line in lines]) + "\n")


if __name__ == "__main__":
    main()
