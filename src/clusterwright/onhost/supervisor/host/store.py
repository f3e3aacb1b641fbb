"""The rendezvous store of one generation (torch's TCPStore), in its own process: `python -m ...store ADDRESS`.

It listens before its port is announced, dies with its agent and not with rank 0, and serves one generation
only, so restarted ranks never read keys of dead ones.
"""

from __future__ import annotations

import os
import signal
import sys

from clusterwright.onhost.supervisor import network
from clusterwright.onhost.supervisor.host import wake


def serve(address: str) -> None:
    """Serve a torch TCPStore on this address until killed; report its port, or why it cannot, to the agent."""
    try:
        import torch.distributed as dist
    except ImportError as error:
        wake.send(store_error=f"{type(error).__name__}: {error}"[:300], pid=os.getpid())
        raise
    listener = network.listen(address)
    port = listener.getsockname()[1]
    serving = dist.TCPStore(  # type: ignore[attr-defined]  # (public, yet not in __all__)
        address, port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    wake.send(store=os.getpid(), port=serving.port)
    while True:
        signal.pause()


if __name__ == "__main__":
    serve(sys.argv[1])
