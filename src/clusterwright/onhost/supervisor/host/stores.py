"""A Python that forks stores where ranks start cold: `python -m ...stores RUN AGENT`.

A store that had to import torch by itself would keep the ranks of the next generation waiting for 1 to 2 s, or take
the processors from those of this one.
"""

from __future__ import annotations

import importlib
import sys

from clusterwright.onhost.supervisor.host import forkserver


def main(agent: int) -> None:
    """Import what a store needs, then fork one at each order."""
    importlib.import_module("torch.distributed")
    order = forkserver.serve(agent)
    if order:
        forkserver.become(order)


if __name__ == "__main__":
    main(int(sys.argv[2]))
