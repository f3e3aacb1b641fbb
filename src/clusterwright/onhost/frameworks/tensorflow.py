"""TensorFlow: TF_CONFIG, which MultiWorkerMirroredStrategy reads; one worker per rank."""

from __future__ import annotations

import json

from clusterwright.onhost.adapters.adapter import Adapter
from clusterwright.onhost.adapters.process_context import ProcessContext


def variables(context: ProcessContext) -> dict[str, str]:
    """Return TF_CONFIG with host and port of every worker; ports follow the rendezvous port.

    Nothing if the process is a launcher that starts the ranks.
    """
    if context.starts_ranks:
        return {}
    workers = [
        f"{host}:{context.port + 1 + number}" for host in context.hosts for number in range(context.ranks)
    ]
    task = {"type": "worker", "index": context.rank}
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": task})}


ADAPTER = Adapter(module="tensorflow", install="pip install tensorflow", launcher="srun", variables=variables)
