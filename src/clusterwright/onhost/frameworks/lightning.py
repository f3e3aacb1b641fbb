"""Lightning: torch's variables suffice; it recognizes a rank as torchrun's before it checks for Slurm."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter

ADAPTER = Adapter(module="lightning|pytorch_lightning", install="pip install lightning")
