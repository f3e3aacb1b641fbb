"""Run a script with its local rank as an option: `python -m ...local_rank --local_rank SCRIPT ARGUMENTS`.

For scripts that parse `--local_rank`, which torch.distributed.launch spells `--local-rank` since torch 2.0.
In place of SCRIPT, `-m MODULE`.
"""

from __future__ import annotations

import os
import sys
from typing import List

MODULE = "clusterwright.onhost.adapters.local_rank"


def with_local_rank(arguments: List[str], local_rank: str) -> List[str]:
    """Return Python's arguments with `OPTION=LOCAL_RANK` right after the script or module.

    The first of `arguments` is the option, the others are Python's.
    """
    option, *command = arguments
    start = 2 if command[0] == "-m" else 1
    return [*command[:start], f"{option}={local_rank}", *command[start:]]


if __name__ == "__main__":
    from clusterwright.onhost.supervisor.host import rank

    rank.program(with_local_rank(sys.argv[1:], os.environ.get("LOCAL_RANK", "0")))
