"""Lightning: torch's variables are enough; it takes a rank of ours for one of torchrun's, before it looks at Slurm."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter

ADAPTER = Adapter(module="lightning|pytorch_lightning", install="pip install lightning")
