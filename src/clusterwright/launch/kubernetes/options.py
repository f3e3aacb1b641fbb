"""What a manifest is made for, beside the two files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Object = dict[str, Any]
Kind = Literal["jobset", "trainjob"]

# Labels of hosts, which `kubectl label` puts on and README.md lists.
GROUP, SWITCH = "clusterwright/group", "clusterwright/switch"
QUEUE, ACCOUNT = "training", "training"  # of each team's namespace: its LocalQueue, and who its pods are
# What k8s-rdma-shared-dev-plugin calls it in NVIDIA's Network Operator; each site may name it otherwise.
RDMA = "rdma/rdma_shared_device_a"


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """The version of Kubernetes, the kind of training objects, an image, and what adapters are called."""

    version: tuple[int, int]
    kind: Kind = "jobset"
    image: str = ""
    rdma: str = RDMA


def meta(name: str, namespace: str = "", **labels: str) -> Object:
    """Metadata with our label, so that `kubectl get -l app.kubernetes.io/managed-by=clusterwright` finds all of it."""
    ours = {"app.kubernetes.io/managed-by": "clusterwright", **labels}
    return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": ours}
