"""FairScale: torch's variables suffice; `run.track` saves the sharded state of its optimizer whole."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter

# Its build imports torch, which pip's isolated environment would download again.
ADAPTER = Adapter(module="fairscale", install="pip install --no-build-isolation fairscale")
