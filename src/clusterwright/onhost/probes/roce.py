"""Prints how the RoCE ports that `apply` has found are set now, in one JSON line.

Arguments: the file that says which port is on which network, and the root of /sys, if not at the usual places.
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
    """What a command prints; nothing where it is missing, refuses or hangs."""
    result = processes.run(argv, LIMIT_S)
    return result.out.strip() if result.ok else ""


def describe_port(root: str, line: str) -> Dict[str, str]:
    """One port: what the driver, the kernel's own tool and rdma_cm say of it."""
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
    """All of them; an empty list where `apply` has written none."""
    file, root = sys.argv[1:] or (PORTS, ROOT)
    lines = [line for line in read(file).splitlines() if line and not line.startswith("#")]
    sys.stdout.write(json.dumps([describe_port(root, line) for line in lines]) + "\n")


if __name__ == "__main__":
    main()
