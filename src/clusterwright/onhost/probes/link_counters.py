"""Prints the present and an earlier reading of link counters, in one JSON line.

The earlier reading is stored for an hour in a file below /run, which a boot clears together with the counters: so an
error remains visible for that long, however frequent the checks. Without it the counters are read twice, two seconds
apart. Arguments: that file and the sysfs tree, if not at the usual paths.
"""

import json
import os
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.lib.sysfs import listed, number

STATE_FILE, TREE = "/run/clusterwright/link-counters.json", "/sys/class"
RETENTION_S, MOST_S = (
    3600.0,
    86400.0,
)  # a reading is replaced after the first, and ignored after the second
INTERVAL_S = 2.0
# Only counters with a rule: with some drivers, reading all of them writes to the kernel log each time.
OF_NET = ("carrier_changes", "statistics/rx_errors", "statistics/rx_crc_errors", "statistics/tx_errors")
OF_PORT = (
    "counters/symbol_error", "counters/link_error_recovery", "counters/link_downed", "counters/port_rcv_errors",
    "counters/port_xmit_discards", "counters/local_link_integrity_errors", "counters/excessive_buffer_overrun_errors",
    "hw_counters/local_ack_timeout_err", "hw_counters/rnr_nak_retry_err", "hw_counters/roce_slow_restart",
    "hw_counters/out_of_sequence",
)  # fmt: skip


def reading(tree: str) -> Dict[str, Any]:
    """Return the counters of all links from sysfs, by link and name; `at` is in seconds since boot."""
    links: Dict[str, Dict[str, int]] = {}
    places: List[Tuple[str, str, Tuple[str, ...]]] = []
    places += [
        (name, os.path.join(tree, "net", name), OF_NET) for name in listed(tree + "/net") if name != "lo"
    ]
    for device in listed(tree + "/infiniband"):
        ports = os.path.join(tree, "infiniband", device, "ports")
        places += [(device + "/" + port, os.path.join(ports, port), OF_PORT) for port in listed(ports)]
    for link, folder, names in places:
        counters = {name.rpartition("/")[2]: number(os.path.join(folder, name)) for name in names}
        links[link] = {name: value for name, value in counters.items() if value is not None}
    return {"at": time.clock_gettime(time.CLOCK_BOOTTIME), "links": links}


def read_previous(path: str, now: float) -> Optional[Dict[str, Any]]:
    """Return the stored reading; None without one, or if it is too old or too new to compare with."""
    try:
        with open(path, encoding="ascii") as file:
            previous = json.load(file)
        return previous if INTERVAL_S <= now - previous["at"] <= MOST_S else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def store(path: str, counters: Dict[str, Any]) -> None:
    """Store a reading for the next check; only root may write there."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        write_atomic(path, json.dumps(counters), mode=0o600, durable=False)
    except OSError:
        pass  # another check reports a full or read-only disk; the next check reads twice again


def main() -> None:
    """Print an earlier and the present reading of link counters as JSON; store the present one when it is due.

    Without a stored one, the earlier is taken INTERVAL_S before.
    """
    path, tree = sys.argv[1:] or (STATE_FILE, TREE)
    now = reading(tree)
    previous = read_previous(path, now["at"])
    if previous is None:
        previous = now
        time.sleep(INTERVAL_S)
        now = reading(tree)
        store(path, now)
    elif now["at"] - previous["at"] >= RETENTION_S:
        store(path, now)
    sys.stdout.write(json.dumps({"before": previous, "now": now}) + "\n")


if __name__ == "__main__":
    main()
