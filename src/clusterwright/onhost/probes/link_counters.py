"""Prints what counters of links say now, and what they said before, in one JSON line.

The reading before is kept for an hour in a file under /run, which a boot empties as it empties the counters: so what
happened stays seen for so long, however often somebody looks. Without one the counters are read twice, two seconds
apart. Arguments: the file and the kernel's tree, if not at the usual places.
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
)  # how long a reading is compared with; one older than that is another story
INTERVAL_S = 2.0
# Only what has a rule: reading all of them makes some drivers write to the kernel's log each time.
OF_NET = ("carrier_changes", "statistics/rx_errors", "statistics/rx_crc_errors", "statistics/tx_errors")
OF_PORT = (
    "counters/symbol_error", "counters/link_error_recovery", "counters/link_downed", "counters/port_rcv_errors",
    "counters/port_xmit_discards", "counters/local_link_integrity_errors", "counters/excessive_buffer_overrun_errors",
    "hw_counters/local_ack_timeout_err", "hw_counters/rnr_nak_retry_err", "hw_counters/roce_slow_restart",
    "hw_counters/out_of_sequence",
)  # fmt: skip


def reading(tree: str) -> Dict[str, Any]:
    """Every counter that is there, by link and name; `at` is in seconds since boot."""
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
    """The reading before, if there is one that can be used."""
    try:
        with open(path, encoding="ascii") as file:
            previous = json.load(file)
        return previous if INTERVAL_S <= now - previous["at"] <= MOST_S else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def store(path: str, counters: Dict[str, Any]) -> None:
    """The next pass finds this one; nobody but root may write there."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        write_atomic(path, json.dumps(counters), mode=0o600, durable=False)
    except OSError:
        pass  # a full or read-only disk is another check's finding; the next pass reads twice again


def main() -> None:
    """Both readings."""
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
