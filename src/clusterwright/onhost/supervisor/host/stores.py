"""A Python that forks stores on hosts where ranks start cold: `python -m ...stores RUN AGENT`.

A store that imported torch by itself would delay the ranks of the next generation by 1 to 2 s, or take CPU
time from those of this one.
"""

from __future__ import annotations

import importlib
import sys

from clusterwright.onhost.supervisor.host import forkserver


def main(agent: int) -> None:
    """Import torch.distributed, then fork a rendezvous store at each order of the agent."""
    importlib.import_module("torch.distributed")
    order = forkserver.serve(agent)
    if order:
        forkserver.become(order)


if __name__ == "__main__":
    main(int(sys.argv[2]))
