"""A torchrun that has imported torch already and waits for its orders: one JSON line on stdin.

Importing torch is what a new generation waits for longest, 1.6 s on an idle machine and 10 s on a busy one, and it
comes twice: in torchrun, then in the ranks. This takes the first away.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Import, wait, become what the orders say; without orders, leave."""
    from torch.distributed import run  # noqa: PLC0415 (the agent's folder needs no torch; this process is for it)

    line = sys.stdin.readline()
    if not line:
        return
    orders = json.loads(line)
    with open(orders["log"], "ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(orders["env"])
    os.chdir(orders["cwd"])
    sys.argv = ["torchrun", *orders["arguments"]]
    run.main(orders["arguments"])


if __name__ == "__main__":
    main()
