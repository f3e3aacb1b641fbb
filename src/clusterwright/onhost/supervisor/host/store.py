"""The store of one generation (torch's TCPStore), in a process of its own: `python -m ...store ADDRESS SEED`.

It listens before anybody is told its port, dies with its agent and not with rank 0, and serves one generation only:
ranks that come back never meet what dead ones left in it.
"""

from __future__ import annotations

import os
import signal
import sys

from clusterwright.onhost.supervisor import network
from clusterwright.onhost.supervisor.host import wake


def serve(address: str, seed: int) -> None:
    """Listen, say where, serve until killed."""
    import torch.distributed as dist

    listener = network.listen(address, seed)
    port = listener.getsockname()[1]
    serving = dist.TCPStore(  # type: ignore[attr-defined]  # (public, yet not in __all__)
        address, port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    wake.send(store=os.getpid(), port=serving.port)
    while True:
        signal.pause()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
