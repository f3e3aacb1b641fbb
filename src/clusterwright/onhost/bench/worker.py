"""Runs on this host the orders in the bench's folder, one after the other: `worker.py FOLDER`.

An order is `orders/NUMBER.json`: for each participating host a program beside this file, its stdin and its limit.
The answer is `answers/NUMBER/HOST.json`. Standard library, Python 3.8 or later.
"""

import json
import os
import sys
import time
from typing import Any, Dict, List

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.files import write_atomic

POLL_INTERVAL_S = 0.05
IDLE_S = 180  # the program that writes orders has ended if there is none for so long
MOST_BYTES = 1 << 20
STOP = "stop"

Json = Dict[str, Any]


def main() -> int:
    """Run this host's part of each order in the folder until there is a stop order (0) or no order for IDLE_S (1).

    An order is a file that the control program writes; each is run once.
    """
    folder, me = sys.argv[1], os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    completed_orders = set()  # type: set[str]
    last_order = time.monotonic()
    while time.monotonic() - last_order < IDLE_S:
        names = waiting(folder, completed_orders)
        if STOP in names:
            return 0
        for name in names:
            with open(os.path.join(folder, "orders", name)) as file:
                order = json.load(file)
            part = order["parts"].get(me)
            if part:
                if "given" in order:
                    part["given"] = order["given"][part["given"]]
                answer(folder, name, me, carry_out(folder, part))
            completed_orders.add(name)
            last_order = time.monotonic()
        time.sleep(POLL_INTERVAL_S)
    return 1


def waiting(folder: str, completed_orders: "set[str]") -> List[str]:
    """Return the names of the files with orders that are not completed, sorted; hidden files are left out.

    It lists the folder, because that makes NFS revalidate it; the lookup of a file name does not.
    """
    names = os.listdir(os.path.join(folder, "orders"))
    return sorted(name for name in names if name not in completed_orders and not name.startswith("."))


def carry_out(folder: str, part: Json) -> Json:
    """Run this host's program of an order with its limit; return code, output, seconds and why it was stopped.

    A program that exceeds the limit is killed with its process group.
    """
    program = os.path.join(folder, "programs", part["program"] + ".py")
    began = time.monotonic()
    result = processes.run(
        [part.get("python") or sys.executable, program],
        part["limit_s"],
        stdin=json.dumps(part["given"]).encode(),
        env=dict(os.environ, LC_ALL="C"),  # English output
    )
    return {
        "code": result.code,
        "stopped": result.stopped.replace("overran", "overran its %s s" % part["limit_s"]),
        "seconds": round(time.monotonic() - began, 3),
        "out": result.out[:MOST_BYTES],
        "err": result.err[-2000:],
    }


def answer(folder: str, name: str, me: str, result: Json) -> None:
    """Write the result of this host (`me`) for the order `name` to a file in the folder, atomically."""
    answer_folder = os.path.join(folder, "answers", name[: -len(".json")])
    os.makedirs(answer_folder, exist_ok=True)
    write_atomic(os.path.join(answer_folder, me + ".json"), json.dumps(result), durable=False)


if __name__ == "__main__":
    sys.exit(main())
